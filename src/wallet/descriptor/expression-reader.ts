/** Reads a descriptor or a miniscript: functions, and arguments between commas and brackets. */
export class ExpressionReader {
  /** Unread rest of the text. */
  rest: string;

  constructor(text: string) {
    this.rest = text;
  }

  get done(): boolean {
    return this.rest === '';
  }

  /** Skips `text` if it is next. */
  skip(text: string): boolean {
    if (!this.rest.startsWith(text)) return false;
    this.rest = this.rest.slice(text.length);
    return true;
  }

  /** Enters the brackets if the rest is a call of `name`. Returns whether it did. */
  enter(name: string): boolean {
    const { rest } = this;
    if (!rest.startsWith(name) || rest[name.length] !== '(' || rest.length < name.length + 2 || !rest.endsWith(')'))
      return false;
    this.rest = rest.slice(name.length + 1, -1);
    return true;
  }

  /** Reads up to a comma or closing bracket of the enclosing call; the result may be empty. */
  argument(): string {
    const { rest } = this;
    let level = 0;
    let at = 0;
    for (; at < rest.length; at++) {
      const char = rest[at]!;
      if (char === '(' || char === '{') level++;
      else if (level > 0 && (char === ')' || char === '}')) level--;
      else if (level === 0 && (char === ')' || char === '}' || char === ',')) break;
    }
    this.rest = rest.slice(at);
    return rest.slice(0, at);
  }
}

/** Thrown while a descriptor is parsed, and caught by the parser's entry points. The message is Core's. */
export class DescriptorError extends Error {
  override readonly name = 'DescriptorError';
}

export function descriptorFail(message: string): never {
  throw new DescriptorError(message);
}

/** Runs a function, and prepends `prefix` to the message of a DescriptorError. */
export function withPrefix<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DescriptorError) throw new DescriptorError(prefix + error.message);
    throw error;
  }
}

/** Limit of the steps of all paths, and of the keys of all descriptors, that one text expands to. */
export const MAX_MULTIPATH_PRODUCT = 1_000_000;

/**
 * Transposes lists of one or of `count` elements each. Returns null where a list has another length. Throws
 * DescriptorError where there are too many elements.
 */
export function zipPaths<T>(lists: readonly (readonly T[])[], count: number): T[][] | null {
  if (!lists.every(({ length }) => length === 1 || length === count)) return null;
  if (lists.length * count > MAX_MULTIPATH_PRODUCT) descriptorFail('Multipath descriptor has too many keys');
  return Array.from({ length: count }, (_, i) => lists.map((list) => list[list.length === 1 ? 0 : i]!));
}
