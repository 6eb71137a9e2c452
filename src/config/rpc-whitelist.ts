/** The RPC methods of one user; `user` null stands for every user of HTTP Basic. */
export interface RpcWhitelist {
  readonly user: string | null;
  readonly methods: readonly string[];
}

export const RPC_WHITELIST_FORM = 'user:method,method,… for each user, or methods alone for every user';

const METHOD = /^[a-z][a-z0-9._]*$/i;
const USER = /^[^:,\s]+$/;

/**
 * Reads lines in Bitcoin Core's form `user:method,method`. A name with a colon starts the list of a user, and the names
 * after it belong to that user, so one line may hold several users. Lines of the same user intersect, as in Core.
 * Returns null when a line is malformed, or when some methods have a user and others have none.
 */
export function readRpcWhitelist(lines: readonly string[]): readonly RpcWhitelist[] | null {
  const users = new Map<string | null, readonly string[]>();
  for (const line of lines) {
    const read = readLine(line);
    if (!read) return null;
    for (const [user, methods] of read) {
      const earlier = users.get(user);
      users.set(user, earlier ? earlier.filter((method) => methods.includes(method)) : methods);
    }
  }
  if (users.size > 1 && users.has(null)) return null;
  return [...users].map(([user, methods]) => ({ user, methods }));
}

function readLine(line: string): ReadonlyMap<string | null, readonly string[]> | null {
  const users = new Map<string | null, string[]>();
  let user: string | null = null;
  for (const part of line.split(',')) {
    const colon = part.indexOf(':');
    if (colon >= 0) user = part.slice(0, colon).trim();
    const method = part.slice(colon + 1).trim();
    if (user !== null && !USER.test(user)) return null;
    // `user:` alone allows no method.
    const isEmpty = method === '' && colon >= 0;
    if (!isEmpty && !METHOD.test(method)) return null;
    const methods = users.get(user) ?? [];
    users.set(user, isEmpty ? methods : [...methods, method.toLowerCase()]);
  }
  return users;
}
