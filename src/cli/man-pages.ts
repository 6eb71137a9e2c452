import { KEYS, SETTINGS } from '../config/settings.ts';
import { variableOf } from '../config/sources.ts';
import type { CommandFacts } from './command-facts.ts';
import { allowedText, changeApplies, defaultText } from './help-config.ts';
import { COMMON_OPTIONS } from './help-text.ts';

/** The manual pages by their names, and their sections. */
export const MAN_PAGES = { obverse: 1, 'obverse.toml': 5 } as const;

type ManPage = keyof typeof MAN_PAGES;

/** Returns a manual page as roff with the macros of man(7). */
export function manPage(page: ManPage, version: string, commands: readonly CommandFacts[]): string {
  const lines = page === 'obverse' ? commandPage(commands) : settingsPage();
  return `${[`.TH ${page.toUpperCase()} ${MAN_PAGES[page]} "" "obverse ${version}" "Obverse"`, ...lines].join('\n')}\n`;
}

function commandPage(commands: readonly CommandFacts[]): string[] {
  return [
    '.SH NAME',
    `obverse ${DASH} full node for Bitcoin\\-family chains`,
    '.SH SYNOPSIS',
    '.B obverse',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    ...text(
      'A full node in one executable, with address index, REST, JSON-RPC and WebSocket. The same executable manages it: it calls the running node, shows its state, and checks its data.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap(commandSection),
    '.SH COMMON OPTIONS',
    ...optionRows(COMMON_OPTIONS),
    '.SH EXIT STATUS',
    '.TP',
    '.B 0',
    'The command is done.',
    '.TP',
    '.B 1',
    'The command has failed.',
    '.TP',
    '.B 2',
    'The command line or a setting is wrong.',
    '.SH ENVIRONMENT',
    '.TP',
    `.B ${roff('OBVERSE_API_KEY')}`,
    ...text("The operator's own key. The node accepts it, and the commands that call the node use it."),
    '.TP',
    `.B ${roff('OBVERSE_API_KEY_FILE')}`,
    ...text('A file with that key.'),
    '.PP',
    'Every setting has a variable; see',
    '.BR obverse.toml (5).',
    '.SH FILES',
    '.TP',
    '.I ~/.local/share/obverse',
    ...text('The default data directory.'),
    '.SH SEE ALSO',
    '.BR obverse.toml (5)',
  ];
}

function commandSection({ command, summary }: CommandFacts): string[] {
  const { usage, description, options = [], examples = [] } = command;
  return [
    `.SS ${roff(`obverse ${usage}`)}`,
    ...text(`This command serves to ${summary}.`),
    ...description.split('\n\n').flatMap((paragraph) => ['.PP', ...text(paragraph)]),
    ...optionRows(options.filter((option) => !isCommon(option))),
    ...(options.some(isCommon) ? ['.PP', 'It accepts the common options as well.'] : []),
    ...(examples.length === 0 ? [] : ['.PP', 'Examples:', '.PP', '.EX']),
    ...examples.map(line),
    ...(examples.length === 0 ? [] : ['.EE']),
  ];
}

type Option = NonNullable<CommandFacts['command']['options']>[number];

function isCommon([flag]: Option): boolean {
  return COMMON_OPTIONS.some(([common]) => common === flag);
}

function optionRows(options: readonly Option[]): string[] {
  return options.flatMap(([flag, help]) => ['.TP', `.B ${roff(flag.trim())}`, ...text(help)]);
}

function settingsPage(): string[] {
  return [
    '.SH NAME',
    `obverse.toml ${DASH} settings of obverse`,
    '.SH DESCRIPTION',
    ...text(
      'A setting is given as a flag, as an environment variable or in the TOML file that --config names, and they take precedence in this order. Flags and variables separate the elements of a list by commas.',
    ),
    '.PP',
    'In the file, the part of a key before the last dot is the name of a table:',
    '.PP',
    '.EX',
    '[http]',
    line('listen = "127.0.0.1:8332"'),
    '.EE',
    '.SH SETTINGS',
    ...KEYS.flatMap((key) => [
      '.TP',
      `.B ${roff(key)}`,
      ...text(`${SETTINGS[key].help}.`),
      '.br',
      ...text(`Allowed: ${allowedText(SETTINGS[key])}. Default: ${defaultText(SETTINGS[key])}.`),
      '.br',
      ...text(`A change applies after ${changeApplies(SETTINGS[key])}.`),
      '.br',
      ...text(`Variable: ${variableOf(key)}`),
    ]),
    '.SH SEE ALSO',
    '.BR obverse (1)',
  ];
}

const DASH = '\\-';
/** Lines of the source are broken at spaces, as the macros expect. */
const SOURCE_WIDTH = 78;

/** Returns running text as lines of the source, each sentence on a line of its own. */
function text(given: string): string[] {
  const sentences = given
    .replaceAll(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.:]) (?=[A-Z])/);
  return sentences.flatMap((sentence) => {
    const lines = [''];
    for (const word of sentence.split(' ')) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      // The width counts escapes, which make a line longer.
      if (line(longer).length > SOURCE_WIDTH && lines.at(-1) !== '') lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.map(line);
  });
}

/** Returns one line of text that roff does not read as a request. */
function line(given: string): string {
  return roff(given).replace(/^(?=[.'])/, '\\&');
}

function roff(given: string): string {
  return given
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll(
      /[^\x20-\x7e]/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
