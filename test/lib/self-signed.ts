import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a self-signed certificate for localhost and its key. */
export function tlsFiles(dir: string): { cert: string; key: string } {
  const files = { cert: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };
  writeFileSync(files.cert, certificateText);
  writeFileSync(files.key, keyText, { mode: 0o600 });
  return files;
}

/** The flags that switch TLS on with them. */
export function tlsFlags(dir: string): string[] {
  const { cert, key } = tlsFiles(dir);
  return [`--http.tls.cert=${cert}`, `--http.tls.key=${key}`];
}

/** The certificate, PEM. */
export const certificateText = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUDc3oLRxcUEr96hKpVP4spXD0rdMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjE2NTUwM1oYDzIxMjYxMDI5
MTY1NTAzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAR0rODJdJ9XbD+UN5ggjwK2JdNMVX14nn9OVBeFjPVJRWkwKCu6ovQA
tjQdHvkJ4vp61qX65E601x0hAK2U4Cy+o28wbTAdBgNVHQ4EFgQUZ4Neb19zhrtH
WWjawvNfcIUtkFkwHwYDVR0jBBgwFoAUZ4Neb19zhrtHWWjawvNfcIUtkFkwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAMvPb261AvBZ8yQjVw2qrjVf9bFSxzvYzN/C7oj4kGZDAiB1
wV5yyzuBCecwm5NP0zzth+6E26VuhJTL88/x4DCq5w==
-----END CERTIFICATE-----
`;

/** A private key for tests alone. */
export const keyText = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsnb9OesOVGoVyRvG
k3Zk6sRqU6v6MgtP+KKnEPFpDBuhRANCAAR0rODJdJ9XbD+UN5ggjwK2JdNMVX14
nn9OVBeFjPVJRWkwKCu6ovQAtjQdHvkJ4vp61qX65E601x0hAK2U4Cy+
-----END PRIVATE KEY-----
`;
