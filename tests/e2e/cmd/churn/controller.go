package main

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const copySuffix = "-copy"

// controller keeps a copy of each config map that has the source label, as controllers are usually written: informer,
// lister, queue with back-off. The copies of deleted ones are left to the garbage collector.
type controller struct {
	api   kubernetes.Interface
	maps  listers.ConfigMapLister
	queue workqueue.TypedRateLimitingInterface[string]
}

func startController(ctx context.Context, api kubernetes.Interface, informer cache.SharedIndexInformer, lister listers.ConfigMapLister) error {
	c := &controller{api: api, maps: lister,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
	add := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		m := obj.(*v1.ConfigMap)
		if m.Labels[sourceLabel] != "" {
			c.queue.Add(m.Name)
		} else if m.Labels[copyLabel] != "" {
			c.queue.Add(m.Name[:len(m.Name)-len(copySuffix)])
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add,
	})
	if err != nil {
		return err
	}
	for range 2 {
		go c.work(ctx)
	}
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	return nil
}

func (c *controller) work(ctx context.Context) {
	for {
		name, over := c.queue.Get()
		if over {
			return
		}
		if err := c.sync(ctx, name); err != nil {
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

func (c *controller) sync(ctx context.Context, name string) error {
	source, err := c.maps.ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	api := c.api.CoreV1().ConfigMaps(namespace)
	have, err := c.maps.ConfigMaps(namespace).Get(name + copySuffix)
	if apierrors.IsNotFound(err) {
		isController := true
		_, err = api.Create(ctx, &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name + copySuffix, Labels: map[string]string{copyLabel: "true"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: source.UID, Controller: &isController}},
			},
			Data: source.Data,
		}, metav1.CreateOptions{})
		return err
	} else if err != nil {
		return err
	}
	if maps.Equal(have.Data, source.Data) {
		return nil
	}
	changed := have.DeepCopy()
	changed.Data = source.Data
	_, err = api.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}
