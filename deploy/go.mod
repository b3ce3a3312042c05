module github.com/etcd-operators/etcd-operators/deploy

go 1.26.0
