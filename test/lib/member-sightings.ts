import { type JsonSchema, membersOf, schemaProblems } from './json-schema.ts';

/** The optional members of schemas that were present in matching values, and those that were absent. */
export class MemberSightings {
  readonly #present = new Set<string>();
  readonly #absent = new Set<string>();

  /** Paths begin with `path`; items are `[]` and members of any name are `*`. */
  add(schema: JsonSchema, value: unknown, path: string): void {
    if (schema.anyOf) {
      const form = (schema.anyOf as JsonSchema[]).find((each) => schemaProblems(each, value).length === 0);
      if (form) this.add(form, value, path);
    } else if (Array.isArray(value)) {
      const { items } = schema as { items: JsonSchema | JsonSchema[] };
      for (const [i, item] of value.entries()) this.add(Array.isArray(items) ? items[i]! : items, item, `${path}[]`);
    } else if (typeof value === 'object' && value !== null) this.#addObject(schema, value, path);
  }

  #addObject(schema: JsonSchema, value: object, path: string): void {
    const { properties, required, additionalProperties } = membersOf(schema);
    for (const key of Object.keys(properties))
      if (!required.includes(key)) (Object.hasOwn(value, key) ? this.#present : this.#absent).add(`${path}.${key}`);
    for (const [key, member] of Object.entries(value)) {
      if (Object.hasOwn(properties, key)) this.add(properties[key]!, member, `${path}.${key}`);
      else if (additionalProperties) this.add(additionalProperties, member, `${path}.*`);
    }
  }

  /** Optional members that no value had. */
  neverThere(): string[] {
    return [...this.#absent].filter((path) => !this.#present.has(path)).sort();
  }

  /** Optional members that every value had. */
  alwaysThere(): string[] {
    return [...this.#present].filter((path) => !this.#absent.has(path)).sort();
  }
}
