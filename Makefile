# All that a contributor runs, and all that CI runs. `make help` lists it.
#
# On a bare Debian machine with Go, as root, `make demo` and `make test` do all the
# set-up themselves: what is built is cached by version in the user's cache folder.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

# The Go modules of the workspace. Each builds alone, as its users get it.
MODULES := api deploy shared operators/etcd-operator operators/etcd-backup-operator operators/etcd-restore-operator plugin e2e
# Those whose programs users run: those of the images, and the plugin (api comes with them).
PRODUCTS := shared operators/etcd-operator operators/etcd-backup-operator operators/etcd-restore-operator plugin
# Where vulnerabilities are looked up; file:// and a folder for a copy of it.
VULNDB ?= https://vuln.go.dev
# How many runs "make simulate" plays, from which one on.
SEEDS ?= 100000
FIRST ?= 0
# How many more of them with the code that ships, each of which takes some ten times as long.
SHIPPED ?= 12000

LOCALKUBE := bin/localkube

# Programs that the tests run: kube-apiserver, etcd of every minor, an S3 server.
TEST_ENV = eval "$$($(LOCALKUBE) env)"
export AZURITE_BINARY := $(CURDIR)/bin/azurite/node_modules/.bin/azurite-blob
export FAKEGCS_BINARY := $(CURDIR)/bin/fakegcs
export GOWORK := off
# As the images and localkube are built: what all of them share is compiled once. The compiler leaves out
# what debuggers need, which what is stripped does not have. The tag leaves the parts of Google's store's
# SDK out that speak gRPC, 13 MB of each program that has it.
TAGS := disable_grpc_modules
export CGO_ENABLED := 0
OWN_GOFLAGS := -trimpath -gcflags=all=-dwarf=false -tags=$(TAGS)
export GOFLAGS := $(filter-out $(OWN_GOFLAGS),$(GOFLAGS)) $(OWN_GOFLAGS)
# The compiler takes a fifth less time if it collects no garbage below one GiB, as package e2e/gobuild has it.
# What the tests run collects it as it does in life.
EAGER := GOGC=off GOMEMLIMIT=1GiB
GO := $(EAGER) go
TESTED := -exec 'env -u GOGC -u GOMEMLIMIT'

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What the demo builds beside itself, by the biggest module of the operators.
DEMO_MODULES := ../operators/etcd-backup-operator localkube/build/kubernetes localkube/build/etcd-3.6 localkube/build/versitygw

.PHONY: demo
demo: ## Watch a cluster form, grow, heal, shrink, and come back from a backup, and undo a mistake, on a real Kubernetes
	@cd e2e && go run ./cmd/run -localkube -load '$(DEMO_MODULES)' ./demo

.PHONY: test
test: test-unit test-docs test-e2e ## Run all tests but the long ones, which make torture runs

.PHONY: test-unit
test-unit: localkube bin/azurite bin/fakegcs bin/controller-gen bin/helm bin/promtool bin/olm bin/scorecard-test ## Run the tests that need no Kubernetes (but a real API server, and real etcd)
	@$(LOCALKUBE) build
	@$(MAKE) --no-print-directory --jobs=$(UNIT_JOBS) $(UNIT)

# The unit tests of each module, and those of the simulator, which take longest. Many wait for etcd or
# an API server, so some modules' run side by side.
UNIT := unit/simulate unit/operators/etcd-operator $(patsubst %,unit/%,$(filter-out operators/etcd-operator,$(MODULES)))
UNIT_JOBS ?= 3
.PHONY: $(UNIT)
$(filter-out unit/simulate,$(UNIT)): unit/%:
	@$(TEST_ENV) && cd $* && $(GO) test $(TESTED) -timeout 40m $$(go list ./... | grep -v -e e2e/suite -e e2e/site -e e2e/releasetest -e internal/simulate)

unit/simulate:
	@$(TEST_ENV) && cd operators/etcd-operator && $(GO) test $(TESTED) -tags simulation,$(TAGS) -timeout 40m ./internal/simulate

# It tells what failed once more at the end: tests that run side by side are hard to read.
E2E = cd e2e && $(EAGER) ../bin/gotestsum --format testname --jsonfile ../out/e2e/tests.json -- $(TESTED) ./suite -count=1

.PHONY: test-e2e
test-e2e: localkube images bin/gotestsum bin/helm ## Run the end-to-end tests on a real Kubernetes (KUBECONFIG, if set), but for the long ones
	@mkdir -p out/e2e
	$(E2E) -short -timeout 62m

.PHONY: torture
torture: localkube images bin/gotestsum bin/helm bin/prometheus ## Run all end-to-end tests, and compare the operators' rights with what they use
	@mkdir -p out/e2e
	@# Patroni and PostgreSQL, on localkube, are Debian's.
	@command -v mmdebstrap >/dev/null || [ -n "$$KUBECONFIG" ] || { echo "installing Debian's mmdebstrap"; apt-get update -q && apt-get install -y -q --no-install-recommends mmdebstrap; }
	$(E2E) -timeout 120m

.PHONY: test-docs
test-docs: docs ## Test the site of docs/ in a real browser
	@command -v chromium >/dev/null || { echo "installing Debian's chromium, and a font"; apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; }
	cd e2e && $(GO) test $(TESTED) ./site -count=1 -timeout 15m

.PHONY: simulate
simulate: ## Try to break etcd-operator, with SEEDS random runs from number FIRST on
	@mkdir -p out
	cd operators/etcd-operator && $(GO) test -tags simulation,$(TAGS) ./internal/simulate -c -o ../../out/simulate.test
	@# A run of the shipped code keeps one core busy: there is a process for each.
	@cd operators/etcd-operator/internal/simulate && failed=0 && pids= && cores=$$(nproc) && each=$$((($(SHIPPED) + cores - 1) / cores)) && \
	  { ../../../../out/simulate.test -test.run 'TestSimulate$$' -seeds $(SEEDS) -first $(FIRST) -test.v || failed=1; } && \
	  for i in $$(seq 0 $$((cores - 1))); do \
	    GOMAXPROCS=1 ../../../../out/simulate.test -test.run 'TestShipped(Rejections)?$$' -shipped $$each -rejected $$((each / 4)) -first $$(($(FIRST) + i * each)) -test.v & pids="$$pids $$!"; \
	  done; for pid in $$pids; do wait $$pid || failed=1; done; exit $$failed

.PHONY: simulate-cover
simulate-cover: ## Show which functions of etcd-operator SHIPPED runs of its shipped code cover, and what share of their statements
	@mkdir -p out
	@cd operators/etcd-operator && go test -tags simulation,$(TAGS) ./internal/simulate -run 'TestShipped$$' -shipped $(SHIPPED) -first $(FIRST) -timeout 0 \
	  -coverprofile ../../out/simulate.cover -coverpkg ./internal/act,./internal/observe,./internal/report,./internal/controller && \
	  go tool cover -func ../../out/simulate.cover && \
	  awk -F '[/: ]' 'NR > 1 {p = $$(NF-4); all[p] += $$(NF-1); if ($$NF > 0) hit[p] += $$(NF-1)} END {for (p in all) printf "%-12s %5.1f%% of %d statements\n", p, 100 * hit[p] / all[p], all[p]}' ../../out/simulate.cover
	@echo 'line by line: go tool cover -html out/simulate.cover'

.PHONY: bench
bench: localkube images ## Measure against the floor, side by side in one run
	@$(LOCALKUBE) build
	@$(TEST_ENV) && cd e2e && go run ./bench

.PHONY: docs
docs: bin/hugo localkube ## Build the site of docs/ into out/docs, and check its links, commands and objects
	rm -rf out/docs
	bin/hugo --source site --minify --noBuildLock --logLevel warn
	cd e2e && $(GO) test $(TESTED) ./docs ./site -count=1 -run 'Links|Shell|Pages|Diagrams'
	@$(LOCALKUBE) build
	@$(TEST_ENV) && cd e2e && $(GO) test $(TESTED) ./manifests -count=1 -run 'PagesShowRightObjects'

.PHONY: charts
charts: bin/helm ## Package the Helm charts into out/charts
	rm -rf out/charts
	@set -e; for c in charts/*/Chart.yaml; do bin/helm package $${c%/*} --dependency-update --destination out/charts; done
	bin/helm lint --quiet out/charts/*.tgz

.PHONY: bundles
bundles: ## Write the bundles for OLM into out/bundles
	rm -rf out/bundles
	cd e2e && go run ./cmd/generate -bundles ..

.PHONY: images
images: ## Build image tars without Docker, into out/images
	cd e2e && go run ./cmd/images

.PHONY: vuln
vuln: bin/govulncheck ## Look for known vulnerabilities that the operators' code reaches (VULNDB)
	@set -e; for m in $(PRODUCTS); do echo "== $$m"; (cd $$m && $(CURDIR)/bin/govulncheck -db $(VULNDB) ./...); done

.PHONY: sbom
sbom: images bin/cyclonedx-gomod ## List what is in each program of the images, as CycloneDX, into out/sbom
	@mkdir -p out/sbom
	@set -e; for p in out/bin/*; do sbom=out/sbom/$${p##*/}.cdx.json; \
	  bin/cyclonedx-gomod bin -json -std -version "$$(git describe --always --dirty)" -output $$sbom $$p; \
	  echo $$sbom; \
	done

.PHONY: plugin
plugin: bin/kubectl-etcd ## Build bin/kubectl-etcd, the plugin kubectl etcd

# How the plugin calls itself: the newest tag, and the commits since.
PLUGIN_VERSION = $(shell git describe --tags --always --dirty)
# As LinkerFlag of shared/version has it.
VERSION_FLAG := -X=github.com/etcd-operators/etcd-operators/shared/version.stamped=

.PHONY: krew
krew: ## Pack the plugin for krew, for each platform, into out/krew
	cd plugin && go run ./cmd/krew -version $(PLUGIN_VERSION) -out ../out/krew

.PHONY: bin/kubectl-etcd
bin/kubectl-etcd:
	@cd plugin && $(GO) build -ldflags '-s -w $(VERSION_FLAG)$(PLUGIN_VERSION)' -o ../$@ .

# It builds what is committed, and refuses a checkout with changes: see docs/project/releasing.md.
.PHONY: release
release: bin/cyclonedx-gomod bin/olm ## Build release VERSION, such as 1.2.3, into out/release
	cd e2e && go run ./cmd/release build -version '$(VERSION)'

.PHONY: release-publish
release-publish: ## Push the images and charts of out/release to REGISTRY, such as ghcr.io/etcd-operators
	cd e2e && go run ./cmd/release publish -registry '$(REGISTRY)'

.PHONY: release-sign
release-sign: bin/cosign ## Sign out/release, and its images and charts in REGISTRY if set: with KEY, or without by the identity of a workflow
	cd e2e && go run ./cmd/release sign -key '$(KEY)' -registry '$(REGISTRY)'

# The programs for the processor that this machine does not have run under emulation.
QEMU := $(if $(filter aarch64,$(shell uname -m)),qemu-x86_64-static,qemu-aarch64-static)

.PHONY: test-release
test-release: bin/olm bin/cosign bin/helm bin/krew bin/validate-krew-manifest ## Build a release twice from the commit, compare the two, look at what is in it, and install it (long)
	@command -v $(QEMU) >/dev/null || { echo "installing Debian's qemu-user-static"; apt-get update -q && apt-get install -y -q --no-install-recommends qemu-user-static; }
	cd e2e && $(GO) test $(TESTED) ./releasetest -count=1 -timeout 240m -v

.PHONY: localkube
localkube: ## Build bin/localkube, which brings up a real Kubernetes
	@cd e2e && $(GO) build -o ../$(LOCALKUBE) ./localkube

.PHONY: generate
generate: bin/controller-gen bin/crd-ref-docs ## Make deepcopy code, CRDs, docs/reference, dashboards, and the READMEs and schemas of the charts
	cd api && ../bin/controller-gen object crd paths=./v1beta2 output:crd:dir=../out/crd
	mv out/crd/*_etcdclusters.yaml deploy/etcd-operator/crd/
	mv out/crd/*_etcdbackups.yaml deploy/etcd-backup-operator/crd/
	mv out/crd/*_etcdrestores.yaml deploy/etcd-restore-operator/crd/
	bin/crd-ref-docs --source-path=api/v1beta2 --config=tools/reference/config.yaml --templates-dir=tools/reference --renderer=markdown --output-path=docs/reference/api.md --log-level=ERROR
	cd plugin && go run ./cmd/reference -out ../docs/reference/kubectl-etcd.md
	cd e2e && go run ./cmd/reference .. && go run ./cmd/generate ..

.PHONY: lint
lint: bin/golangci-lint ## Check style, in every module
	@set -e; for m in $(MODULES); do echo "== $$m"; (cd $$m && $(CURDIR)/bin/golangci-lint run ./...); done

.PHONY: check
check: generate lint ## Check that generated files, go.mod files and style are as they should be
	@set -e; for m in $(MODULES) tools tools/cosign tools/docs tools/fakegcs tools/helm tools/krew tools/lint tools/olm tools/prometheus tools/supply; do (cd $$m && go mod tidy -diff); done
	cd e2e && go run ./cmd/verify ..
	@git diff --exit-code -- api charts deploy docs/reference || { echo "generated files differ: commit what make generate made"; exit 1; }

.PHONY: clean
clean: localkube ## Take localkube away, and what was built here
	$(LOCALKUBE) down
	rm -rf bin out

bin/controller-gen: tools/go.mod
	$(GO) -C tools build -o ../bin/controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen

bin/crd-ref-docs: tools/go.mod
	$(GO) -C tools build -o ../bin/crd-ref-docs github.com/elastic/crd-ref-docs

bin/gotestsum: tools/go.mod
	$(GO) -C tools build -o ../bin/gotestsum gotest.tools/gotestsum

bin/hugo: tools/docs/go.mod
	$(GO) -C tools/docs build -o ../../bin/hugo github.com/gohugoio/hugo

# Azure Blob Storage for tests. Nothing of it is in what is shipped.
bin/azurite: tools/azurite/package-lock.json
	@command -v npm >/dev/null || { echo "installing Debian's nodejs and npm"; apt-get update -q && apt-get install -y -q --no-install-recommends nodejs npm; }
	rm -rf $@ $@.part
	mkdir -p $@.part
	cp tools/azurite/package.json tools/azurite/package-lock.json $@.part
	cd $@.part && npm ci --ignore-scripts --no-audit --no-fund
	mv $@.part $@

# Google Cloud Storage for tests. Nothing of it is in what is shipped.
bin/fakegcs: tools/fakegcs/go.mod
	$(GO) -C tools/fakegcs build -o ../../bin/fakegcs github.com/fsouza/fake-gcs-server

# Without what finds targets at clouds, which is most of what they are built from.
PROMETHEUS_TAGS := $(TAGS),remove_all_sd

bin/promtool: tools/prometheus/go.mod
	$(GO) -C tools/prometheus build -tags=$(PROMETHEUS_TAGS) -ldflags='-s -w' -o ../../$@ github.com/prometheus/prometheus/cmd/promtool

bin/prometheus: tools/prometheus/go.mod
	$(GO) -C tools/prometheus build -tags=$(PROMETHEUS_TAGS),enable_kubernetes_sd -ldflags='-s -w' -o ../../$@ github.com/prometheus/prometheus/cmd/prometheus

# operator-framework's own checks of bundles: its validation, and the tests of its scorecard.
# The second tag chooses a library for signatures that needs no C.
OLM_TAGS := $(TAGS),containers_image_openpgp

bin/olm: tools/olm/go.mod $(wildcard tools/olm/*.go)
	$(GO) -C tools/olm build -tags=$(OLM_TAGS) -ldflags='-s -w' -o ../../$@ .

bin/scorecard-test: tools/olm/go.mod
	$(GO) -C tools/olm build -tags=$(OLM_TAGS) -ldflags='-s -w' -o ../../$@ github.com/operator-framework/operator-sdk/images/scorecard-test

bin/helm: tools/helm/go.mod
	$(GO) -C tools/helm build -o ../../bin/helm helm.sh/helm/v4/cmd/helm

bin/govulncheck: tools/supply/go.mod
	$(GO) -C tools/supply build -o ../../bin/govulncheck golang.org/x/vuln/cmd/govulncheck

bin/cyclonedx-gomod: tools/supply/go.mod
	$(GO) -C tools/supply build -o ../../bin/cyclonedx-gomod github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

# bin/release publishes and signs a release in a job that builds nothing: see .ci/publish.
.PHONY: bin/release
bin/release:
	cd e2e && $(GO) build -buildvcs=false -ldflags='-s -w' -o ../$@ ./cmd/release

# bin/cosign signs and verifies releases. It has a module of its own, because it is larger than everything else. Like
# bin/release, it is built without the state of the checkout, so that reviewers of a release can build the same bytes.
bin/cosign: tools/cosign/go.mod
	$(GO) -C tools/cosign build -buildvcs=false -ldflags='-s -w' -o ../../bin/cosign github.com/sigstore/cosign/v3/cmd/cosign

bin/krew bin/validate-krew-manifest: tools/krew/go.mod
	$(GO) -C tools/krew build -o ../../$@ sigs.k8s.io/krew/cmd/$(@F)

bin/golangci-lint: tools/lint/go.mod
	$(GO) -C tools/lint build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
