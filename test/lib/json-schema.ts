/** A JSON Schema, of which only what the node and Core write is understood. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const KNOWN = new Set([
  ...['type', 'pattern', 'items', 'minItems', 'maxItems', 'properties', 'additionalProperties', 'required', 'anyOf'],
  ...['oneOf', 'const', 'additionalItems', 'description', 'default', 'x-bitcoin-unit', 'enum', 'minimum', 'maximum'],
  ...['maxLength', 'examples', 'format'],
]);

/** Returns the problems of a value, each with its path; none where it fits. */
export function schemaProblems(schema: JsonSchema, value: unknown, path = '$'): string[] {
  for (const key of Object.keys(schema)) if (!KNOWN.has(key)) return [`${path}: the schema's ${key} is not understood`];
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (choices) {
    const forms = choices.map((form) => schemaProblems(form, value, path));
    if (forms.some((problems) => problems.length === 0)) return [];
    // The form whose constants fit, and of those the one with the fewest problems, is the most helpful.
    const isOther = (problems: readonly string[]) =>
      Number(problems.some((problem) => /: not [a-zA-Z]+$/.test(problem)));
    return forms.toSorted((a, b) => isOther(a) - isOther(b) || a.length - b.length)[0]!;
  }
  if (Object.hasOwn(schema, 'const')) return value === schema.const ? [] : [`${path}: not ${schema.const}`];
  const { type, pattern } = schema as { type?: string; pattern?: string };
  if (type !== undefined && !isOfType(value, type))
    return [`${path}: ${JSON.stringify(value)?.slice(0, 80)} is no ${type}`];
  if (pattern !== undefined && !new RegExp(pattern).test(value as string)) return [`${path}: not ${pattern}`];
  const { enum: words } = schema as { enum?: unknown[] };
  if (words && !words.includes(value)) return [`${path}: ${JSON.stringify(value)} is none of ${words.join(', ')}`];
  const { minimum = -Infinity, maximum = Infinity } = schema as { minimum?: number; maximum?: number };
  if (typeof value === 'number' && (value < minimum || value > maximum)) return [`${path}: ${value} is out of bounds`];
  const { maxLength = Infinity } = schema as { maxLength?: number };
  if (typeof value === 'string' && value.length > maxLength) return [`${path}: longer than ${maxLength}`];
  if (type === 'array') return arrayProblems(schema, value as unknown[], path);
  if (type === 'object') return objectProblems(schema, value as Record<string, unknown>, path);
  return [];
}

function arrayProblems({ items, minItems = 0, maxItems = Infinity }: JsonSchema, value: unknown[], path: string) {
  if (value.length < (minItems as number) || value.length > (maxItems as number))
    return [`${path}: ${value.length} items`];
  return value.flatMap((item, i) =>
    schemaProblems((Array.isArray(items) ? items[i] : items) as JsonSchema, item, `${path}[${i}]`),
  );
}

/** Returns the members that the schema of an object declares. */
export function membersOf(schema: JsonSchema) {
  const { properties = {}, required = [], additionalProperties = false } = schema;
  return { properties, required, additionalProperties } as {
    readonly properties: Readonly<Record<string, JsonSchema>>;
    readonly required: readonly string[];
    readonly additionalProperties: false | JsonSchema;
  };
}

function objectProblems(schema: JsonSchema, value: Record<string, unknown>, path: string): string[] {
  const { properties, required, additionalProperties } = membersOf(schema);
  const missing = required.filter((key) => !Object.hasOwn(value, key)).map((key) => `${path}.${key}: missing`);
  const inner = Object.entries(value).flatMap(([key, member]) => {
    const of = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    return of ? schemaProblems(of, member, `${path}.${key}`) : [`${path}.${key}: not in the schema`];
  });
  return [...missing, ...inner];
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
