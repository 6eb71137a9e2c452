/** Result of a rule: a value, or the rejection `E`. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | ({ readonly ok: false } & E);
