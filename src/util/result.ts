/** What a rule yields: a value, or what it found wrong. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | ({ readonly ok: false } & E);
