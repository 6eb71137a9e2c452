import { KEYS, SETTINGS } from '../config/settings.ts';
import type { Command, CommandTable } from './command.ts';

/** One flag of a command. */
interface FlagFacts {
  /** With its dashes. */
  readonly name: string;
  /** Placeholder of the value; null for a switch. */
  readonly value: string | null;
  readonly help: string;
}

/** One command, as completion scripts and manual pages describe it. */
export interface CommandFacts {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
  /** Words that may follow the name, such as `create`. */
  readonly words: readonly string[];
  readonly flags: readonly FlagFacts[];
  /** Whether every setting is a flag of the command. */
  readonly hasSettings: boolean;
  /** Whether its arguments are files. */
  readonly hasFiles: boolean;
}

/** Reads all commands of the table from the texts that help shows. */
export async function commandFacts(commands: CommandTable): Promise<CommandFacts[]> {
  return Promise.all(
    Object.entries(commands).map(async ([name, { summary, load }]) => {
      const { command } = await load();
      const options = command.options ?? [];
      const [, first = ''] = command.usage.split(' ');
      const words = /^[a-z-]+(?:\|[a-z-]+)*$/.test(first) ? first.split('|') : [];
      const flags = options.flatMap(([text, help]) => flagOf(text.trim(), help));
      return {
        name,
        summary,
        command,
        words,
        flags,
        hasSettings: options.some(([text]) => text === SETTING_FLAG),
        hasFiles: / FILE/.test(command.usage),
      };
    }),
  );
}

const SETTING_FLAG = '--KEY=VALUE';

function flagOf(text: string, help: string): FlagFacts[] {
  if (text === SETTING_FLAG) return [];
  const [, name, value] = /^(--[a-z-]+)(?: (.+))?$/.exec(text) ?? [];
  return name === undefined ? [] : [{ name, value: value ?? null, help }];
}

/** Every setting as a flag, with the values that are allowed where these are words. */
export interface SettingFlag {
  readonly name: string;
  readonly kind: 'switch' | 'path' | 'words' | 'text';
  readonly choices: readonly string[];
  readonly help: string;
}

export function settingFlags(): SettingFlag[] {
  return KEYS.map((key) => {
    const { kind, allowed, help } = SETTINGS[key];
    const name = `--${key}`;
    if (kind === 'boolean') return { name, kind: 'switch', choices: ['true', 'false'], help };
    if (kind === 'enum') return { name, kind: 'words', choices: allowed.split(/, | or /), help };
    return { name, kind: kind === 'path' ? 'path' : 'text', choices: [], help };
  });
}
