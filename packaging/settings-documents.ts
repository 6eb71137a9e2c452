import { allowedText, changeApplies, defaultText } from '../src/cli/help-config.ts';
import { type Address, hostPortText, type Setting } from '../src/config/setting.ts';
import { KEYS, type Key, SETTINGS } from '../src/config/settings.ts';
import { variableOf } from '../src/config/sources.ts';

/** A machine for the defaults that depend on one. */
const MACHINE = { network: 'main', dev: false, dataHome: '/var/lib/obverse', cores: 4, memory: 8 * 2 ** 30 } as const;
const LINE_WIDTH = 118;

/** Returns the configuration file of the service: every key of the file with its default, in comments. */
export function exampleConfiguration(): string {
  const header = `# Settings of Obverse. Every key is here with its meaning, its allowed values and its default. Remove the # before a
# key to set it. Flags and OBVERSE_* variables come before this file. docs/configure.md has the same list.
`;
  const parts = sections().map(({ table, keys }) => {
    const entries = keys.map((key) => {
      const setting: Setting<unknown> = SETTINGS[key];
      const text = wrapped(
        `${sentence(setting.help)} Allowed: ${allowedText(setting)}. Default: ${defaultText(setting)}. A change applies after ${changeApplies(setting)}.`,
      );
      return `${text.map((line) => `# ${line}\n`).join('')}# ${nameInTable(table, key)} = ${tomlText(setting)}\n`;
    });
    return `${table === '' ? '' : `[${table}]\n`}${entries.join('\n')}`;
  });
  return `${header}\n${parts.join('\n')}`;
}

/** Returns docs/configure.md: every setting in tables. */
export function settingsDocument(): string {
  const parts = sections(true).map(({ table, keys }) => {
    const rows = keys.map((key) => {
      const setting: Setting<unknown> = SETTINGS[key];
      return `| \`${key}\` | ${cell(setting.help)} | ${cell(allowedText(setting))} | ${cell(defaultText(setting))} | ${setting.live ? 'reload' : 'restart'} |`;
    });
    const head = '| setting | meaning | allowed | default | applies after |\n|---|---|---|---|---|';
    return `## ${table === '' ? 'General' : table}\n\n${head}\n${rows.join('\n')}\n`;
  });
  return `# Configure

A setting is given as a flag, as an environment variable or in a TOML file, and these take precedence in this order:

    obverse start --network signet --log.level debug
    OBVERSE_NETWORK=signet OBVERSE_LOG_LEVEL=debug obverse start
    obverse start --config obverse.toml

The variable of a setting is \`OBVERSE_\` and its key in capitals: \`${variableOf('http.allowedHosts')}\` is \`http.allowedHosts\`.
Flags and variables separate the elements of a list by commas; the file has arrays of strings. In the file a key is written
with its dots, or in the table of its first word. [systemd/obverse.toml](../systemd/obverse.toml) is such a file with every
key in comments.

An unknown setting, a value that is not allowed, or a file named by a setting that cannot be used ends the start with one
line that names it, and exit status 2. Under systemd the service then stays stopped. All other failures of a start, such as
a port in use or a full disk, have exit status 1, and systemd starts the service again.

\`obverse settings\` checks the settings without starting anything, and shows those that are given and the place that gives
each; \`--all\` adds the defaults. Its exit status is 2 where the start would end with it.

    $ OBVERSE_LOG_LEVEL=debug obverse settings --config /etc/obverse/obverse.toml --network regtest
    network regtest  # flag --network
    config /etc/obverse/obverse.toml  # flag --config
    http.listen 127.0.0.1:8080  # file /etc/obverse/obverse.toml
    log.level debug  # environment OBVERSE_LOG_LEVEL

A change of a setting applies after a restart, or already after a reload where the last column says so: SIGHUP, which
\`systemctl reload obverse\` sends, reads all settings again, and the log names those that have changed and those of them that
need a restart.

The operator's own API key is not a setting, so that it appears in no configuration: it comes from the variable
\`OBVERSE_API_KEY\`, from the file that \`OBVERSE_API_KEY_FILE\` names, or from the systemd credential \`api-key\`.

This page follows from the table of settings (\`src/config/\`), as does \`obverse help config\`.

${parts.join('\n')}`;
}

interface Section {
  /** The first word of the keys; empty for keys of one word. */
  readonly table: string;
  readonly keys: readonly Key[];
}

function sections(withConfig = false): Section[] {
  const found = new Map<string, Key[]>([['', []]]);
  for (const key of KEYS) {
    // The file cannot name itself.
    if (key === 'config' && !withConfig) continue;
    const table = key.includes('.') ? key.slice(0, key.indexOf('.')) : '';
    const keys = found.get(table);
    if (keys) keys.push(key);
    else found.set(table, [key]);
  }
  return [...found].map(([table, keys]) => ({ table, keys }));
}

function nameInTable(table: string, key: Key): string {
  return table === '' ? key : key.slice(table.length + 1);
}

/** The value that the default has on `MACHINE`, or an allowed one where the default is none. */
function tomlText(setting: Setting<unknown>): string {
  const value = setting.fallback(MACHINE);
  if (value === null) return setting.kind === 'boolean' ? 'false' : '""';
  if (setting.kind === 'address') return JSON.stringify(hostPortText(value as Address));
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[${value.map((each) => JSON.stringify(elementText(each))).join(', ')}]`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return JSON.stringify(String(value));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LINE_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The element of a list as it is written in the file; addresses are the only ones that are not text. */
function elementText(element: string | Address): string {
  return typeof element === 'string' ? element : hostPortText(element);
}
