package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

type watcher func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)

// ledger is a watch without a cache: it notes each event, and resumes behind the last one when it was cut.
type ledger struct {
	kind  string
	watch watcher

	mu       sync.Mutex
	last     uint64            // revision of the last event
	objects  map[string]string // resourceVersions by key
	versions map[string]int    // how often each was seen since forget()
	deleted  map[types.UID]int // likewise
	events   int64
	resumed  int64
	wrong    error // the first thing that must not happen
}

func newLedger(kind string, w watcher) *ledger {
	l := &ledger{kind: kind, watch: w, objects: map[string]string{}}
	l.forget()
	return l
}

func (l *ledger) forget() {
	l.versions, l.deleted = map[string]int{}, map[types.UID]int{}
}

// run watches from the beginning of the cluster on, so that every event counts.
func (l *ledger) run(ctx context.Context, from string) {
	l.last, _ = strconv.ParseUint(from, 10, 64)
	for ctx.Err() == nil {
		stream, err := l.watch(ctx, metav1.ListOptions{ResourceVersion: fmt.Sprint(l.last), AllowWatchBookmarks: true})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			l.fail("the watch from %d on was refused: %v", l.last, err)
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for event := range stream.ResultChan() {
			l.note(event)
		}
		stream.Stop()
		l.mu.Lock()
		l.resumed++
		l.mu.Unlock()
	}
}

func (l *ledger) fail(format string, args ...any) {
	if l.wrong == nil {
		l.wrong = fmt.Errorf("a watch of %s: %s", l.kind, fmt.Sprintf(format, args...))
	}
}

func (l *ledger) note(event watch.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	object, err := meta.Accessor(event.Object)
	if err != nil || event.Type == watch.Error {
		// The end of a connection in the middle of an event is reported like this, too.
		if status, ok := event.Object.(*metav1.Status); ok && status.Code == 410 {
			l.fail("it ended with %q", status.Message)
		}
		return
	}
	version := object.GetResourceVersion()
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		l.fail("resourceVersion %q", version)
	}
	if event.Type == watch.Bookmark {
		if revision < l.last {
			l.fail("a bookmark goes back from %d to %d", l.last, revision)
		}
		l.last = revision
		return
	}
	key := object.GetNamespace() + "/" + object.GetName()
	if revision <= l.last {
		l.fail("%s of %s has revision %d after %d", event.Type, key, revision, l.last)
	}
	if _, known := l.objects[key]; known == (event.Type == watch.Added) {
		l.fail("%s of %s, which it knew: %v", event.Type, key, known)
	}
	l.last = revision
	l.events++
	if event.Type == watch.Deleted {
		delete(l.objects, key)
		l.deleted[object.GetUID()]++
	} else {
		l.objects[key] = version
		l.versions[version]++
	}
}

// knows compares the objects with a list.
func (l *ledger) knows(list runtime.Object) error {
	want, err := versionsOf(list)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong != nil {
		return l.wrong
	}
	return compare("the watch of "+l.kind, l.objects, want)
}

// versionsOf are the resourceVersions of a list's objects by key.
func versionsOf(list runtime.Object) (map[string]string, error) {
	found := map[string]string{}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			found[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
		}
		return err
	})
	return found, err
}

func compare(what string, have, want map[string]string) error {
	for key, version := range want {
		if have[key] != version {
			return fmt.Errorf("%s has revision %q of %s, and the list %s", what, have[key], key, version)
		}
	}
	for key := range have {
		if want[key] == "" {
			return fmt.Errorf("%s has %s, and the list does not", what, key)
		}
	}
	return nil
}
