// Command coredns is CoreDNS with only the four plugins a sandbox node needs.
//
// The stock program links every plugin, several cloud SDKs among them, and takes four times as long to build.
// A sandbox asks one thing of DNS: that Services and the pods behind headless Services have names.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

// Order is meaning in CoreDNS: a query passes the plugins in this order, whatever the Corefile says.
var order = []string{"bind", "errors", "cache", "kubernetes"}

func init() { dnsserver.Directives = order }

func main() { coremain.Run() }
