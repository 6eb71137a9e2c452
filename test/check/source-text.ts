/** A comment or string literal of a TypeScript file. */
export interface TextPiece {
  readonly kind: 'comment' | 'string';
  /** Without delimiters; in a template the substitutions are replaced by `…`. */
  readonly text: string;
  /** Counted from 1; where the piece begins. */
  readonly line: number;
}

const REGEX_BEFORE = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|=>|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new))$/;

/**
 * Returns all comments and string literals of a formatted TypeScript file. Successive `//` lines are one comment.
 */
export function textPieces(source: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let line = 1;
  let at = 0;
  // Code since the last piece without white space at its end; enough to distinguish a division from a regular expression.
  let before = '';
  let commentLine = 0;

  const skipTo = (end: number) => {
    for (let i = at; i < end; i++) if (source.charCodeAt(i) === 10) line++;
    at = end;
  };
  const addComment = (text: string, isLine: boolean) => {
    const last = pieces.at(-1);
    if (isLine && last?.kind === 'comment' && commentLine === line - 1) {
      pieces[pieces.length - 1] = { ...last, text: `${last.text} ${text}` };
    } else pieces.push({ kind: 'comment', text, line });
    commentLine = isLine ? line : 0;
  };
  const addString = (text: string) => {
    pieces.push({ kind: 'string', text, line });
    before = '"';
  };

  /** Reads code up to the end of the file, or behind the `}` that ends a substitution. */
  const readCode = (inTemplate: boolean): void => {
    let depth = 0;
    while (at < source.length) {
      const char = source[at]!;
      const two = source.slice(at, at + 2);
      if (two === '//') {
        const end = source.indexOf('\n', at) < 0 ? source.length : source.indexOf('\n', at);
        addComment(source.slice(at + 2, end).trim(), true);
        skipTo(end);
      } else if (two === '/*') {
        const end = source.indexOf('*/', at) + 2;
        const text = source.slice(at, end).replace(/^\/\*+|\*+\/$/g, '');
        addComment(text.replaceAll(/\n\s*\*? ?/g, ' ').trim(), false);
        skipTo(end);
      } else if (char === "'" || char === '"') {
        let end = at + 1;
        while (end < source.length && source[end] !== char) end += source[end] === '\\' ? 2 : 1;
        addString(source.slice(at + 1, end));
        skipTo(end + 1);
      } else if (char === '`') {
        readTemplate();
      } else if (char === '/' && REGEX_BEFORE.test(before.trimEnd())) {
        let end = at + 1;
        for (let inClass = false; end < source.length && (inClass || source[end] !== '/'); end++) {
          if (source[end] === '\\') end++;
          else if (source[end] === '[') inClass = true;
          else if (source[end] === ']') inClass = false;
        }
        skipTo(end + 1);
        before = '/';
      } else {
        if (char === '{') depth++;
        if (char === '}' && depth-- === 0 && inTemplate) return;
        if (/\s/.test(char)) {
          // A word must not grow together with the one before it.
          if (/\w$/.test(before)) before += ' ';
        } else before = (before.trimEnd() === before ? before + char : keepWord(before, char)).slice(-60);
        skipTo(at + 1);
      }
    }
  };
  const readTemplate = (): void => {
    const began = line;
    let text = '';
    at++;
    while (at < source.length && source[at] !== '`') {
      if (source[at] === '\\') {
        text += source.slice(at, at + 2);
        skipTo(at + 2);
      } else if (source.startsWith('${', at)) {
        skipTo(at + 2);
        before = '(';
        readCode(true);
        skipTo(at + 1);
        text += '…';
      } else {
        text += source[at];
        skipTo(at + 1);
      }
    }
    at++;
    pieces.push({ kind: 'string', text, line: began });
    before = '"';
  };
  readCode(false);
  return pieces;
}

/** A space between two words counts; in `return /x/` it is what ends the word. */
function keepWord(before: string, char: string): string {
  return /[\w$]/.test(char) ? before + char : before.trimEnd() + char;
}
