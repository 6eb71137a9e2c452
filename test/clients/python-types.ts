/** The parts of JSON Schema that the documents of the node use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};
/** Words that cannot be the name of a member of a class. */
const KEYWORDS: ReadonlySet<string> = new Set(['from', 'in', 'is', 'class', 'import', 'global', 'with', 'as', 'pass']);

/** Returns Python classes (TypedDict) for named schemas; an object within another has the name of both. */
export function pythonTypes(schemas: Readonly<Record<string, Schema>>): string {
  const declared: string[] = [];
  const aliases = new Map<string, string>();
  const typeOf = (schema: Schema, name: string): string => {
    if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum) return `Literal[${schema.enum.map(literal).join(', ')}]`;
    if (schema.anyOf) return [...new Set(schema.anyOf.map((each, i) => typeOf(each, name + (i || ''))))].join(' | ');
    if (schema.type === 'array') return `list[${typeOf(schema.items ?? {}, `${name}Item`)}]`;
    if (schema.type === 'object') return objectType(schema, name);
    return SCALARS[schema.type ?? ''] ?? 'Any';
  };
  const objectType = (schema: Schema, name: string): string => {
    const { properties = {}, additionalProperties } = schema;
    if (Object.keys(properties).length === 0) {
      const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, `${name}Value`) : 'Any';
      return `dict[str, ${values}]`;
    }
    declare(schema, name);
    return name;
  };
  const declare = (schema: Schema, name: string): void => {
    const { properties = {}, required = [] } = schema;
    const members = Object.entries(properties).map(([key, member]) => {
      const type = typeOf(member, name + key[0]!.toUpperCase() + key.slice(1));
      return [key, required.includes(key) ? type : `NotRequired[${type}]`] as const;
    });
    const isClass = members.every(([key]) => /^[A-Za-z_]\w*$/.test(key) && !KEYWORDS.has(key));
    declared.push(
      isClass
        ? `class ${name}(TypedDict):\n${members.map(([key, type]) => `    ${key}: ${type}`).join('\n')}\n`
        : `${name} = TypedDict('${name}', {\n${members.map(([key, type]) => `    '${key}': '${type}',`).join('\n')}\n})\n`,
    );
  };
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema.type === 'object' && Object.keys(schema.properties ?? {}).length > 0) declare(schema, name);
    else aliases.set(name, typeOf(schema, name));
  }
  // Names of other types are values, so they follow the classes and the names that they refer to.
  while (aliases.size > 0) {
    const [name, type] = [...aliases].find(([own, text]) => !refersTo(text, aliases, own)) ?? [...aliases][0]!;
    declared.push(`${name} = ${type}\n`);
    aliases.delete(name);
  }
  return declared.join('\n');
}

function refersTo(type: string, names: ReadonlyMap<string, string>, own: string): boolean {
  return (type.match(/\w+/g) ?? []).some((word) => word !== own && names.has(word));
}

function literal(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  return value === null ? 'None' : JSON.stringify(value);
}
