// Package deploy has the files that run latent in containers. It is a module of its own because of the types of
// Kubernetes, which its test holds them to.
package deploy

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// An mpiJob is what the MPI operator's reference says of kubeflow.org/v2beta1, so far as mpijob.yaml uses it; its pods
// are Kubernetes' own. The operator's module is not imported.
type mpiJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		SlotsPerWorker   *int32 `json:"slotsPerWorker"`
		SSHAuthMountPath string `json:"sshAuthMountPath"`
		RunPolicy        struct {
			CleanPodPolicy string `json:"cleanPodPolicy"`
			BackoffLimit   *int32 `json:"backoffLimit"`
		} `json:"runPolicy"`
		MPIReplicaSpecs struct{ Launcher, Worker replicas } `json:"mpiReplicaSpecs"`
	} `json:"spec"`
}

type replicas struct {
	Replicas      *int32               `json:"replicas"`
	RestartPolicy core.RestartPolicy   `json:"restartPolicy"`
	Template      core.PodTemplateSpec `json:"template"`
}

// TestManifestsAreOfTheirTypes: no field that the types do not have, every volume that is mounted, no root.
func TestManifestsAreOfTheirTypes(t *testing.T) {
	kinds := map[string]int{}
	for _, name := range []string{"job.yaml", "mpijob.yaml", "flink.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		claims := map[string]bool{}
		for _, one := range bytes.Split(text, []byte("\n---\n")) {
			var is meta.TypeMeta
			if err := yaml.Unmarshal(one, &is); err != nil {
				t.Fatal(name, err)
			}
			strictly := func(into any) {
				if err := yaml.UnmarshalStrict(one, into); err != nil {
					t.Errorf("%s, %s: %v", name, is.Kind, err)
				}
			}
			kinds[is.APIVersion+" "+is.Kind]++
			switch is.Kind {
			case "PersistentVolumeClaim":
				var c core.PersistentVolumeClaim
				strictly(&c)
				claims[c.Name] = true
			case "Service":
				strictly(&core.Service{})
			case "Deployment":
				var d apps.Deployment
				strictly(&d)
				for key, value := range d.Spec.Selector.MatchLabels {
					if d.Spec.Template.Labels[key] != value {
						t.Errorf("%s: deployment %s does not select its pods", name, d.Name)
					}
				}
				checkPod(t, name, d.Spec.Template.Spec, claims)
			case "Job":
				var j batch.Job
				strictly(&j)
				checkPod(t, name, j.Spec.Template.Spec, claims)
			case "MPIJob":
				var j mpiJob
				strictly(&j)
				claims["latent"] = true
				checkPod(t, name, j.Spec.MPIReplicaSpecs.Launcher.Template.Spec, claims)
				checkPod(t, name, j.Spec.MPIReplicaSpecs.Worker.Template.Spec, claims)
			default:
				t.Errorf("%s has a %s", name, is.Kind)
			}
		}
	}
	for kind, n := range map[string]int{"batch/v1 Job": 2, "kubeflow.org/v2beta1 MPIJob": 1, "apps/v1 Deployment": 3} {
		if kinds[kind] != n {
			t.Errorf("%d of %s, not %d", kinds[kind], kind, n)
		}
	}
}

func checkPod(t *testing.T, name string, pod core.PodSpec, claims map[string]bool) {
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if c := v.PersistentVolumeClaim; c != nil && !claims[c.ClaimName] {
			t.Errorf("%s: no claim %s", name, c.ClaimName)
		}
	}
	own := regexp.MustCompile(`^latent`)
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: container %s mounts %s, which no volume is", name, c.Name, m.Name)
			}
		}
		user := func(s *core.SecurityContext) bool { return s != nil && s.RunAsUser != nil && *s.RunAsUser > 0 }
		shared := pod.SecurityContext != nil && pod.SecurityContext.RunAsUser != nil && *pod.SecurityContext.RunAsUser > 0
		if own.MatchString(c.Image) && !user(c.SecurityContext) && !shared {
			t.Errorf("%s: container %s may run as root", name, c.Name)
		}
	}
}
