# MAGnet on the CPU:  docker build -t magnet . && docker run --rm -v "$PWD:/data" magnet clean nodes.csv -o cleaned
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
COPY benchmarks benchmarks
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist .

FROM python:3.12-slim
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /dist /dist
# TORCH_INDEX: the index with PyTorch's CPU builds makes a much smaller image; without it the default build is taken
ARG TORCH_INDEX=
RUN grep '^torch==' /tmp/constraints.txt > /tmp/torch.txt \
    && pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} -r /tmp/torch.txt \
    && pip install --no-cache-dir -c /tmp/constraints.txt /dist/*.whl \
    && rm -rf /dist /tmp/*.txt \
    && useradd --create-home magnet
USER magnet
WORKDIR /data
ENTRYPOINT ["magnet"]
CMD ["--help"]
