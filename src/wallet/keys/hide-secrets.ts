/**
 * Matches private keys, also mistyped ones: extended keys, and single keys of any network, which have 51 or 52
 * characters.
 */
const SECRET = /[a-zA-Z]prv[0-9A-Za-z]{20,}|(?<![0-9A-Za-z])[5KL9c][0-9A-Za-z]{48,53}(?![0-9A-Za-z])/g;

/** Replaces private keys by `…`. Mistyped ones are replaced too, since they reveal most of the secret. */
export function hideSecrets(text: string): string {
  return text.replace(SECRET, (secret) => `${secret.slice(0, 4)}…`);
}
