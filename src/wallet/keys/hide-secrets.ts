/**
 * Matches private keys, also mistyped ones: extended keys, and single keys of any network, which have 51 or 52
 * characters.
 */
const SECRET = /[a-zA-Z]prv[0-9A-Za-z]{20,}|(?<![0-9A-Za-z])[5KL9c][0-9A-Za-z]{48,53}(?![0-9A-Za-z])/g;

/** Replaces private keys by `…`. Mistyped ones are replaced too, since they reveal most of the secret. */
export function hideSecrets(text: string): string {
  return text.replace(SECRET, (secret) => `${secret.slice(0, 4)}…`);
}

/** A whole word that is a private key, even a mistyped one. Public keys may contain `prv` by chance. */
const SECRET_WORD = /(?<![0-9A-Za-z])(?:[a-zA-Z]prv[0-9A-Za-z]{20,}|[5KL9c][0-9A-Za-z]{48,53})(?![0-9A-Za-z])/;

/** Whether a text names a private key: an extended one of any version, or one in wallet import format. */
export function hasPrivateKey(text: string): boolean {
  return SECRET_WORD.test(text);
}
