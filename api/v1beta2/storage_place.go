package v1beta2

import "strings"

// StorePlace is a place in an object store of any type, in the terms of S3: AWSSecret is the
// Secret with the credentials, whatever its type calls it, and what a type does not have is
// empty.
//
// +kubebuilder:object:generate=false
type StorePlace struct {
	Type StorageType
	S3Source
}

// schemes are what locations in object stores begin with.
var schemes = map[StorageType]string{StorageS3: "s3://", StorageOSS: "oss://", StorageABS: "abs://", StorageGCS: "gcs://"}

// Scheme is what locations in a store of this type begin with; empty if it is no object store.
func (t StorageType) Scheme() string { return schemes[t] }

// Store is where a backup goes if that is an object store; else nil.
func (s *BackupSpec) Store() *StorePlace { return storePlace(s.StorageType, s.S3, s.OSS, s.ABS, s.GCS) }

// Copy is the spec of a backup that goes to the second place; nil if there is none. It is one of
// its own, as far as stores go.
func (s *BackupSpec) Copy() *BackupSpec {
	c := s.CopyTo
	if c == nil {
		return nil
	}
	second := *s
	second.CopyTo = nil
	second.StorageType, second.S3, second.OSS, second.ABS, second.GCS, second.PVC = c.StorageType, c.S3, c.OSS, c.ABS, c.GCS, c.PVC
	return &second
}

// Store is where the snapshot lies if that is an object store; else nil.
func (s *RestoreSpec) Store() *StorePlace {
	return storePlace(s.BackupStorageType, s.S3, s.OSS, s.ABS, s.GCS)
}

// Stores are all object stores of which a spec has settings. One that a backup does not go to
// any more might hold earlier ones.
func (s *BackupSpec) Stores() []*StorePlace {
	var places []*StorePlace
	for _, t := range []StorageType{StorageS3, StorageOSS, StorageABS, StorageGCS} {
		if p := storePlace(t, s.S3, s.OSS, s.ABS, s.GCS); p != nil {
			places = append(places, p)
		}
	}
	return places
}

func storePlace(t StorageType, s3 *S3Source, oss *OSSSource, abs *ABSSource, gcs *GCSSource) *StorePlace {
	switch {
	case t == StorageS3 && s3 != nil:
		return &StorePlace{t, *s3.DeepCopy()}
	case t == StorageOSS && oss != nil:
		return &StorePlace{t, S3Source{Path: oss.Path, Prefix: oss.Prefix, AWSSecret: oss.OSSSecret, Endpoint: oss.Endpoint, CASecret: oss.CASecret}}
	case t == StorageABS && abs != nil:
		return &StorePlace{t, S3Source{Path: abs.Path, Prefix: abs.Prefix, AWSSecret: abs.ABSSecret, Endpoint: abs.Endpoint, CASecret: abs.CASecret}}
	case t == StorageGCS && gcs != nil:
		return &StorePlace{t, S3Source{Path: gcs.Path, Prefix: gcs.Prefix, AWSSecret: gcs.GCPSecret, Endpoint: gcs.Endpoint, CASecret: gcs.CASecret}}
	}
	return nil
}

// Field is the field of a spec that says the place.
func (p *StorePlace) Field() string { return strings.ToLower(string(p.Type)) }

// Location is how people write where the object of a path lies.
func (p *StorePlace) Location() string { return p.Type.Scheme() + p.Path }

// At is the place with another path, and no prefix.
func (p *StorePlace) At(path string) *StorePlace {
	at := &StorePlace{p.Type, *p.S3Source.DeepCopy()}
	at.Path, at.Prefix = path, ""
	return at
}
