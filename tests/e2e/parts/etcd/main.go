// etcd as released: the module has no command that can be built from outside, so this is a copy of it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
