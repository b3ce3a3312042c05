# One Dockerfile for every operator:
#
#   docker build --build-arg OPERATOR=etcd-operator -t ghcr.io/etcd-operators/etcd-operator:dev .
#
# The image holds static binaries and CA certificates, and no shell. It has no
# entry point: every manifest says which command it runs, and PATH finds it.
# Those of etcd-operator and of etcd-restore-operator also hold the launcher, which
# starts the members.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG OPERATOR=etcd-operator
ARG TARGETOS=linux
ARG TARGETARCH
# Each module builds alone (its go.mod finds the siblings by relative paths). The tag leaves out
# what Google's SDK needs for gRPC, by which it is not used; the compiler leaves out what the linker
# would drop.
ENV CGO_ENABLED=0 GOWORK=off GOFLAGS="-trimpath -gcflags=all=-dwarf=false -tags=disable_grpc_modules -buildvcs=false"
WORKDIR /src
# The dependencies first: they change less often than the code.
COPY api/go.mod api/go.sum api/
COPY deploy/go.mod deploy/
COPY shared/go.mod shared/go.sum shared/
# That of etcd-operator's simulator, which no image holds.
COPY operators/etcd-restore-operator/go.mod operators/etcd-restore-operator/
COPY operators/${OPERATOR}/go.mod operators/${OPERATOR}/go.sum operators/${OPERATOR}/
RUN go -C operators/${OPERATOR} mod download
COPY api api
COPY deploy deploy
COPY shared shared
COPY operators/${OPERATOR} operators/${OPERATOR}
# The version that the programs tell, such as v1.2.3; empty: (devel).
ARG VERSION=
RUN export GOOS=${TARGETOS} GOARCH=${TARGETARCH} STAMP="-X=github.com/etcd-operators/etcd-operators/shared/version.stamped=${VERSION}" \
 && go -C operators/${OPERATOR} build -ldflags="-s -w ${STAMP}" -o /out/${OPERATOR} . \
 && if [ "${OPERATOR}" != etcd-backup-operator ]; then \
      go -C shared build -ldflags="-s -w ${STAMP}" -o /out/etcd-launcher ./cmd/etcd-launcher; fi \
 && for agent in etcd-survivor-agent etcd-backup-agent etcd-restore-agent; do \
      if [ -d "operators/${OPERATOR}/cmd/${agent}" ]; then \
        go -C operators/${OPERATOR} build -ldflags="-s -w ${STAMP}" -o /out/${agent} ./cmd/${agent}; fi; done

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/ /usr/local/bin/
ENV PATH=/usr/local/bin
USER 65532:65532
