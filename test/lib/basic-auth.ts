/** A line of `rpcauth`, as Bitcoin Core's rpcauth.py makes it. */
export function rpcauthLine(user: string, password: string, salt = 'f7efda5c189b999524f151318c0c86'): string {
  return `${user}:${salt}$${new Bun.CryptoHasher('sha256', salt).update(password).digest('hex')}`;
}

/** The value of an `authorization` header. `login` is `user:password`, such as the content of a cookie file. */
export function basicAuth(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}
