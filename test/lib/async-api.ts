import { asyncApiDocument } from '../../src/server/docs/async-api.ts';
import { type JsonSchema, schemaProblems } from './json-schema.ts';
import { isRecording, recordMessage } from './recorded-examples.ts';

interface Message {
  readonly type: string;
  readonly id?: unknown;
  readonly data: Readonly<Record<string, unknown>>;
}

interface AsyncDocument {
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly payload: JsonSchema; readonly examples?: readonly { readonly payload: Message }[] }>
    >;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** The AsyncAPI document, against which the messages that the node sends are checked. */
export class AsyncApi {
  readonly #document: AsyncDocument;
  /** Schemas without references, by the name of the message. */
  readonly #schemas = new Map<string, JsonSchema>();

  constructor(document: object) {
    this.#document = document as AsyncDocument;
  }

  /** Names of all messages. */
  get messages(): string[] {
    return Object.keys(this.#document.components.messages);
  }

  /** Returns the contradictions between a message and the document. A reply has the name `<request>Reply`. */
  problems(message: Message, name = nameOf(message)): string[] {
    let schema = this.#schemas.get(name);
    if (!schema) {
      const described = this.#document.components.messages[name];
      if (!described) return [`${name}: not in the document`];
      schema = this.#resolved(described.payload) as JsonSchema;
      this.#schemas.set(name, schema);
    }
    return schemaProblems(schema, message, name);
  }

  /** Returns the contradictions between a recorded message and the document. */
  exampleProblems(name: string): string[] {
    const { examples = [] } = this.#document.components.messages[name]!;
    if (examples.length === 0) return [`${name}: no message is recorded`];
    return examples.flatMap(({ payload }) => this.problems(payload, name));
  }

  #resolved(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#resolved(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $ref } = schema as { $ref?: string };
    if ($ref !== undefined) return this.#resolved(this.#document.components.schemas[$ref.split('/').at(-1)!]);
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#resolved(value)]));
  }
}

const REPLIES = new Set(['ack', 'status', 'pong']);
let api: AsyncApi | null = null;

/**
 * Throws unless a message that the node has sent fits its document. Replies are not checked: their form depends on the
 * request.
 */
export function requireDescribed(message: Message): void {
  if (REPLIES.has(message.type)) return;
  api ??= new AsyncApi(JSON.parse(asyncApiDocument('')));
  const problems = api.problems(message);
  if (problems.length > 0) throw new Error(`a message is not as described: ${problems.join('; ')}`);
  recordIfWanted(nameOf(message), message);
}

/** Throws unless the body of a webhook fits the document. */
export function requireDescribedDelivery(text: string): void {
  api ??= new AsyncApi(JSON.parse(asyncApiDocument('')));
  const problems = api.problems(JSON.parse(text) as Message, 'webhookDelivery');
  if (problems.length > 0) throw new Error(`a delivery is not as described: ${problems.join('; ')}`);
  recordIfWanted('webhookDelivery', JSON.parse(text) as Message);
}

/** Records a message that fits the document, where there is none or one that does not fit: `RECORD_EXAMPLES=1`. */
export function recordIfWanted(name: string, message: object): void {
  if (!isRecording || recorded.has(name)) return;
  recorded.add(name);
  const document = new AsyncApi(JSON.parse(asyncApiDocument('')));
  if (document.exampleProblems(name).length > 0) recordMessage(name, message);
}

const recorded = new Set<string>();

function nameOf({ type, data }: Message): string {
  return data.snapshot === true && type !== 'error' ? `${type}Snapshot` : type;
}
