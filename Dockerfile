# The steps of the README in an image: docker build -t isthmus . && docker run --rm isthmus machine list
FROM debian:12
COPY . /isthmus
WORKDIR /isthmus
RUN ./bootstrap install && rm -rf build /var/lib/apt/lists/*
ENV PATH=/isthmus/.venv/bin:$PATH
WORKDIR /work
ENTRYPOINT ["isthmus"]
