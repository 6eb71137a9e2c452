import { writeFileSync } from 'node:fs';

/** Replaces the files of `tlsFiles` by a certificate with the common name renewed, and its key. */
export function renewTlsFiles({ cert, key }: { readonly cert: string; readonly key: string }): void {
  writeFileSync(cert, renewedCertificate);
  writeFileSync(key, renewedKey);
}

/** The certificate, PEM. */
export const renewedCertificate = `-----BEGIN CERTIFICATE-----
MIIBlzCCAT2gAwIBAgIULXVJZHazcv8Qk6S9O3lFxGgFDkwwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHcmVuZXdlZDAgFw0yNjExMjQxNDM0NDRaGA8yMTI2MTAzMTE0
MzQ0NFowEjEQMA4GA1UEAwwHcmVuZXdlZDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABCVIPy06/4z/zW2iLwn9tDm3JVwnETbKUM+cnm3TXMKtsF6y6LRNxB4/UtlQ
30GPPXxLztBb0YTc+APyT7X4CoqjbzBtMB0GA1UdDgQWBBQmsxrBAa5JqDCSLv0h
lB+hytASOjAfBgNVHSMEGDAWgBQmsxrBAa5JqDCSLv0hlB+hytASOjAPBgNVHRMB
Af8EBTADAQH/MBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAKBggqhkjOPQQD
AgNIADBFAiBEKF5S0NZVUqbyU+aCd0180IKiiAMoKVXbJbf0xO9OpgIhAOYTJPF3
yWwyAwAHQjoxqgtPGKlNFjgPYVGgkTa2hDNl
-----END CERTIFICATE-----
`;

/** A private key for tests alone. */
export const renewedKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+6jYSkisjodledqb
rHx9aVs1c4wfaaF5kThmkimxR4ehRANCAAQlSD8tOv+M/81toi8J/bQ5tyVcJxE2
ylDPnJ5t01zCrbBesui0TcQeP1LZUN9Bjz18S87QW9GE3PgD8k+1+AqK
-----END PRIVATE KEY-----
`;
