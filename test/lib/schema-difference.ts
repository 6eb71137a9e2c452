import type { JsonSchema } from './json-schema.ts';

/**
 * Where two JSON Schemas differ, as lines `path: what`. Units, patterns and descriptions are not compared, integers are
 * numbers, `anyOf` is `oneOf`, and what Core leaves open may be anything.
 */
export function schemaDifferences(ours: JsonSchema, cores: JsonSchema, path = ''): string[] {
  if (isOpen(cores)) return [];
  const [a, b] = [forms(ours), forms(cores)];
  if (a.length > 1 || b.length > 1) return formDifferences(a, b, path);
  const [x, y] = [a[0]!, b[0]!];
  if (kindOf(x) !== kindOf(y)) return [`${path}: ${kindOf(x)}, not ${kindOf(y)}`];
  if (x.type === 'array') return Array.isArray(x.items) ? [] : itemDifferences(x, y, path);
  if (x.type === 'object') return objectDifferences(x, y, path);
  return [];
}

function forms(schema: JsonSchema): JsonSchema[] {
  return ((schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined) ?? [schema];
}

/** Each of Core's forms must be like one of ours, in any order. */
function formDifferences(ours: readonly JsonSchema[], cores: readonly JsonSchema[], path: string): string[] {
  const left = [...ours];
  const out: string[] = [];
  for (const [i, form] of cores.entries()) {
    const compared = left.map((each) => schemaDifferences(each, form, `${path}|${i}`));
    const best = compared.toSorted((a, b) => a.length - b.length)[0];
    if (best === undefined) {
      out.push(`${path}|${i}: no such form`);
      continue;
    }
    left.splice(compared.indexOf(best), 1);
    out.push(...best);
  }
  return [...out, ...left.map((form) => `${path}: another form, ${kindOf(form)}`)];
}

function itemDifferences(ours: JsonSchema, cores: JsonSchema, path: string): string[] {
  return schemaDifferences(ours.items as JsonSchema, cores.items as JsonSchema, `${path}[]`);
}

function objectDifferences(ours: JsonSchema, cores: JsonSchema, path: string): string[] {
  // An object whose members are not declared.
  if (cores.properties === undefined && cores.additionalProperties === undefined) return [];
  if (isSchema(ours.additionalProperties) || isSchema(cores.additionalProperties)) {
    if (!isSchema(ours.additionalProperties) || !isSchema(cores.additionalProperties))
      return [`${path}: members of any name or not`];
    return schemaDifferences(ours.additionalProperties, cores.additionalProperties, `${path}.*`);
  }
  const [a, b] = [properties(ours), properties(cores)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => {
    const at = `${path}.${key}`;
    if (!(key in b)) return [`${at}: ours alone`];
    if (!(key in a)) return [`${at}: not here`];
    const [required, coreRequired] = [isRequired(ours, key), isRequired(cores, key)];
    const presence = coreRequired && !required ? [`${at}: not always there`] : [];
    return [...presence, ...schemaDifferences(a[key]!, b[key]!, at)];
  });
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null;
}

function properties(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema.properties ?? {}) as Record<string, JsonSchema>;
}

function isRequired(schema: JsonSchema, key: string): boolean {
  return ((schema.required ?? []) as string[]).includes(key);
}

function isOpen(schema: JsonSchema): boolean {
  return !schema.type && !schema.anyOf && !schema.oneOf;
}

function kindOf({ type }: JsonSchema): string {
  if (type === undefined) return 'anything';
  return type === 'integer' ? 'number' : (type as string);
}
