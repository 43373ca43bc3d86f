// devices asks the allocators of Kubernetes which devices a claim gets: for each line of a file that is about this
// release, with its feature gates, it writes the result.
//
//	go run ./devices ../unit/plugins/devices.jsonl
//
// A result is "request=pool/device" for each device, with the capacity that is consumed, or the text of the failure.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type line struct {
	Release int               `json:"release"`
	Gates   string            `json:"gates"`
	Objects []json.RawMessage `json:"objects"`
	Result  string            `json:"result"`
}

// On by default, of those that an allocator knows.
var defaults = []string{"DRAAdminAccess", "DRAPrioritizedList", "DRAPartitionableDevices", "DRADeviceTaints",
	"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus", "DRAConsumableCapacity"}

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, errors.New("not found")
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func gatesOf(text string) map[string]bool {
	gates := map[string]bool{}
	for _, name := range defaults {
		gates[name] = true
	}
	for _, setting := range strings.Split(text, ",") {
		if name, value, ok := strings.Cut(setting, "="); ok {
			gates[name] = value == "true"
		}
	}
	return gates
}

// A feature is named as its gate, but for the prefix; one of two gates has another name.
func featuresOf(gates map[string]bool) structured.Features {
	var features structured.Features
	fields := reflect.ValueOf(&features).Elem()
	for i := 0; i < fields.NumField(); i++ {
		name := fields.Type().Field(i).Name
		on := gates["DRA"+name] || gates["DRADevice"+name]
		if name == "DeviceBindingAndStatus" {
			on = gates["DRADeviceBindingConditions"] && gates["DRAResourceClaimDeviceStatus"]
		}
		fields.Field(i).SetBool(on)
	}
	return features
}

func count(state *structured.AllocatedState, result *resourceapi.DeviceRequestAllocationResult, shares bool) {
	id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
	if !shares || result.ShareID == nil {
		state.AllocatedDevices.Insert(id)
		return
	}
	state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
	if result.ConsumedCapacity != nil {
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
	}
}

func describe(result *resourceapi.AllocationResult) string {
	var devices []string
	for _, device := range result.Devices.Results {
		text := device.Request + "=" + device.Pool + "/" + device.Device
		var amounts []string
		for name, amount := range device.ConsumedCapacity {
			amounts = append(amounts, string(name)+":"+amount.String())
		}
		sort.Strings(amounts)
		if len(amounts) > 0 {
			text += "(" + strings.Join(amounts, ",") + ")"
		}
		devices = append(devices, text)
	}
	return strings.Join(devices, " ")
}

func allocate(l *line) string {
	gates := gatesOf(l.Gates)
	known := classes{}
	var slices []*resourceapi.ResourceSlice
	var claim *resourceapi.ResourceClaim
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, text := range l.Objects {
		var kind metav1.TypeMeta
		must(json.Unmarshal(text, &kind))
		switch kind.Kind {
		case "DeviceClass":
			class := &resourceapi.DeviceClass{}
			must(json.Unmarshal(text, class))
			known[class.Name] = class
		case "ResourceSlice":
			slice := &resourceapi.ResourceSlice{}
			must(json.Unmarshal(text, slice))
			slices = append(slices, slice)
		case "ResourceClaim":
			one := &resourceapi.ResourceClaim{}
			must(json.Unmarshal(text, one))
			if one.Status.Allocation == nil {
				claim = one
				continue
			}
			for i := range one.Status.Allocation.Devices.Results {
				count(&state, &one.Status.Allocation.Devices.Results[i], gates["DRAConsumableCapacity"])
			}
		}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "z"}}}
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: gates["DRAConsumableCapacity"],
		EnableListTypeAttributes: gates["DRAListTypeAttributes"]})
	allocator, err := structured.NewAllocator(context.Background(), featuresOf(gates), state, known, slices, cache)
	must(err)
	results, err := allocator.Allocate(context.Background(), node, []*resourceapi.ResourceClaim{claim})
	switch {
	case err != nil:
		return err.Error()
	case len(results) == 0:
		return "cannot allocate all claims"
	}
	return describe(&results[0])
}

// The minor version of the module that is linked.
func release() (minor int) {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/dynamic-resource-allocation" {
			_, err := fmt.Sscanf(module.Version, "v0.%d.", &minor)
			must(err)
		}
	}
	return minor
}

func main() {
	path := os.Args[1]
	text, err := os.ReadFile(path)
	must(err)
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l line
		must(json.Unmarshal(lines.Bytes(), &l))
		if l.Release == release() {
			l.Result = allocate(&l)
		}
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		must(encoder.Encode(&l))
	}
	must(os.WriteFile(path, out.Bytes(), 0o644))
}
