// objects writes objects of Kubernetes in protobuf: for each NAME.json that it is given, NAME.pb beside it, as an API
// server sends it; without the envelope if the text has no kind.
//
//	go run ./objects ../unit/api/data/*.json ../unit/extender/data/*.json
//
// The JSON files are written by hand; those of the extender have every field of their type filled with numbered texts.
// The page of a list, the watch and the status in unit/api/data were put together once from such objects.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func record(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"} // if the text has no kind
	if strings.HasPrefix(filepath.Base(path), "node") {
		kind.Kind = "Node"
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, &kind, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.Create(strings.TrimSuffix(path, ".json") + ".pb")
	if err != nil {
		return err
	}
	defer file.Close()
	if object.GetObjectKind().GroupVersionKind().Kind == "" {
		return protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme).Encode(object, file)
	}
	return protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, file)
}

func main() {
	for _, path := range os.Args[1:] {
		if err := record(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
