package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

const noProvisioner = "kubernetes.io/no-provisioner"

// claims finds why PersistentVolumeClaims are not bound.
func claims(f *Facts) []*draft {
	var out []*draft
	for i := range f.Claims {
		c := &f.Claims[i]
		r := core("persistentvolumeclaims", c)
		if c.Status.Phase == corev1.ClaimLost {
			out = append(out, because("VolumeLost", r, "the volume of claim %s no longer exists: its data is lost", c.Name).
				see(r, "status.phase", c.Status.Phase).see(r, "spec.volumeName", c.Spec.VolumeName).next("restore the data from a backup into a new claim"))
		}
		if c.Status.Phase != corev1.ClaimPending || c.DeletionTimestamp != nil {
			continue
		}
		out = append(out, f.claim(c))
	}
	return out
}

func (f *Facts) claim(c *corev1.PersistentVolumeClaim) *draft {
	r := core("persistentvolumeclaims", c)
	pending := func(cause, format string, args ...any) *draft {
		d := because(cause, r, format, args...).see(r, "status.phase", c.Status.Phase)
		for _, e := range f.events(string(c.UID), "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "WaitForFirstConsumer", "WaitForPodScheduled", "VolumeMismatch") {
			return d.event(e)
		}
		return d
	}
	if d := f.taken(c); d != nil {
		return d
	}
	switch {
	case c.Spec.StorageClassName == nil:
		d := pending("NoStorageClass", "claim %s sets no StorageClass, and the cluster has no default StorageClass", c.Name).see(r, "spec.storageClassName", "none")
		if !f.Known["storageclasses.storage.k8s.io"] || f.defaultClass() != "" {
			d.likely()
		}
		return d.next("set storageClassName, or mark a class as the default: kubectl get storageclass")
	case *c.Spec.StorageClassName == "":
		return pending("ClaimPending", "claim %s requests a volume without a class, and no existing volume matches", c.Name).see(r, "spec.storageClassName", `""`).likely().
			next("create a PersistentVolume for it, or set storageClassName: kubectl get pv,storageclass")
	}
	name := *c.Spec.StorageClassName
	class := f.class(name)
	switch {
	case class == nil && f.Known["storageclasses.storage.k8s.io"]:
		d := pending("MissingStorageClass", "claim %s uses StorageClass %s, which does not exist", c.Name, name).see(r, "spec.storageClassName", name)
		var names []string
		for i := range f.StorageClasses {
			names = append(names, f.StorageClasses[i].Name)
		}
		if len(names) > 0 {
			d.see(r, "existing classes", few(names))
		}
		return d.next("the class of a claim is immutable: create the class, or recreate the claim")
	case class == nil:
		return pending("ClaimPending", "claim %s is not bound", c.Name).likely().see(r, "spec.storageClassName", name).next("%s", kubectl("describe", r))
	}
	sc := refOf("storage.k8s.io", "v1", "storageclasses", class)
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && c.Annotations["volume.kubernetes.io/selected-node"] == "" {
		d := pending("WaitsForConsumer", "claim %s is bound once a pod that uses it is scheduled, and no pod is", c.Name).
			see(r, "spec.storageClassName", name).see(sc, "volumeBindingMode", *class.VolumeBindingMode)
		users := f.usersOf(c)
		if len(users) > 0 {
			d.symptom()
			d.Text = fmt.Sprintf("claim %s is bound once a pod that uses it is assigned to a node: %s", c.Name, few(users))
			return d.next("kctl-ctrl why %s%s", word("pod/"+users[0]), in(c.Namespace))
		}
		if !f.Known["pods"] {
			d.likely() // whether a pod uses it is unknown
		}
		return d.next("create a pod that uses it")
	}
	if class.Provisioner == noProvisioner {
		return pending("NoProvisioner", "StorageClass %s does not provision volumes, and no existing volume matches claim %s", name, c.Name).
			see(sc, "provisioner", class.Provisioner).next("create a PersistentVolume for it: kubectl get pv")
	}
	d := pending("NoProvisioner", "claim %s waits for provisioner %s to create its volume", c.Name, class.Provisioner).likely().see(sc, "provisioner", class.Provisioner)
	if failed := f.events(string(c.UID), "ProvisioningFailed"); len(failed) > 0 {
		d.Cause = "ProvisioningFailed"
		d.Text = fmt.Sprintf("provisioner %s cannot create the volume of claim %s", class.Provisioner, c.Name)
		return d.next("see the provisioner's message and its log")
	}
	return d.next("check that the provisioner is running: kubectl get csidrivers; kubectl get pods -A | grep -i %s", word(strings.SplitN(class.Provisioner, ".", 2)[0]))
}

// taken reports a claim whose volume is bound to another claim.
func (f *Facts) taken(c *corev1.PersistentVolumeClaim) *draft {
	for i := range f.Volumes {
		v := &f.Volumes[i]
		of := v.Spec.ClaimRef
		if v.Name != c.Spec.VolumeName || of == nil || of.UID == c.UID || of.UID == "" && of.Namespace == c.Namespace && of.Name == c.Name {
			continue
		}
		r := core("persistentvolumeclaims", c)
		return because("VolumeTaken", r, "claim %s requests volume %s, which is bound to claim %s/%s", c.Name, v.Name, of.Namespace, of.Name).
			see(r, "spec.volumeName", v.Name).see(core("persistentvolumes", v), "spec.claimRef", of.Namespace+"/"+of.Name+", uid "+string(of.UID)).
			see(r, "status.phase", c.Status.Phase).next("recreate the claim without volumeName, or with another volume: kubectl get pv")
	}
	return nil
}

// volumeItself finds why no claim can use a PersistentVolume.
func volumeItself(f *Facts) []*draft {
	if !f.targetIs("persistentvolumes") {
		return nil
	}
	var out []*draft
	for i := range f.Volumes {
		v := &f.Volumes[i]
		r := core("persistentvolumes", v)
		switch v.Status.Phase {
		case corev1.VolumeReleased:
			d := because("VolumeReleased", r, "volume %s is released: its claim was deleted, and the retained volume cannot be bound to another claim", v.Name).
				see(r, "status.phase", v.Status.Phase).see(r, "spec.persistentVolumeReclaimPolicy", v.Spec.PersistentVolumeReclaimPolicy)
			if of := v.Spec.ClaimRef; of != nil {
				d.see(r, "spec.claimRef", of.Namespace+"/"+of.Name)
			}
			if v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
				d.likely().Text = fmt.Sprintf("volume %s is released: its claim was deleted, and its provisioner has not deleted the volume yet", v.Name)
			}
			out = append(out, d.next("once the data is saved or not needed: kubectl patch %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/claimRef\"}]'", word("pv/"+v.Name)))
		case corev1.VolumeFailed:
			out = append(out, because("VolumeFailed", r, "volume %s could not be reclaimed: %s", v.Name, joinWords(v.Status.Reason, "", v.Status.Message)).
				see(r, "status.phase", joinWords(string(v.Status.Phase), v.Status.Reason, v.Status.Message)).next("%s", kubectl("describe", r)))
		}
	}
	return out
}

func (f *Facts) class(name string) *storagev1.StorageClass {
	i := slices.IndexFunc(f.StorageClasses, func(c storagev1.StorageClass) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &f.StorageClasses[i]
}

func (f *Facts) defaultClass() string {
	for i := range f.StorageClasses {
		if f.StorageClasses[i].Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			return f.StorageClasses[i].Name
		}
	}
	return ""
}

// usersOf are the pods that use a claim and have not completed.
func (f *Facts) usersOf(c *corev1.PersistentVolumeClaim) []string {
	var users []string
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.Namespace != c.Namespace || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name {
				users = append(users, p.Name)
			}
		}
	}
	return users
}
