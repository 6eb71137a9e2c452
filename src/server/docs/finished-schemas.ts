export type Json = Record<string, unknown>;

/**
 * Copies a part of the document. Named schemas move to the components, and parameters that are decoded from text show
 * their decoded type and put their description where clients expect it.
 */
export function finishedSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((each) => finishedSchemas(each, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $id, documented, error: _, patternProperties, ...rest } = value as Json;
  if (typeof $id === 'string') {
    schemas[$id] ??= finishedSchemas(rest, schemas);
    return { $ref: `#/components/schemas/${$id}` };
  }
  const plain = isErrorMember(value as Json) ? { ...rest, error: _ } : rest;
  const copy = Object.fromEntries(
    Object.entries(plain).map(([key, member]) => [key, finishedSchemas(member, schemas)]),
  );
  // TypeBox represents a record as a pattern that matches every name.
  if (patternProperties)
    copy.additionalProperties = finishedSchemas(Object.values(patternProperties as Json)[0], schemas);
  if (typeof copy.in === 'string') return finishedParameter(copy, schemas);
  return documented === undefined ? copy : { ...copy, documented };
}

/** A schema under `error` is a member of that name; a text under `error` is Elysia's message for an invalid value. */
function isErrorMember({ error }: Json): boolean {
  return typeof error === 'object';
}

function finishedParameter(parameter: Json, schemas: Json): Json {
  const { description, documented, ...schema } = parameter.schema as Json;
  return {
    ...parameter,
    ...(description !== undefined && { description }),
    schema: documented === undefined ? schema : finishedSchemas(documented, schemas),
  };
}

/** Returns the members in the order of their names. */
export function sortedMembers(members: Json): Json {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
