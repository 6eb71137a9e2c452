import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from './run-cli.ts';

let folder: string;
let script: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'obverse-completion-'));
  const { status, stdout, stderr } = await runCli(['completion', 'bash']);
  expect([status, stderr]).toEqual([0, '']);
  script = join(folder, 'obverse.bash');
  writeFileSync(script, stdout);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Types each line in an interactive bash on a terminal, with the tab key where it has one, and returns what runs. */
function typeInBash(lines: readonly string[]): string[] {
  const program = `
import json, os, pty, sys
lines = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1='', TERM='dumb', INPUTRC='/dev/null', HISTFILE='')
    os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
def until(text):
    seen = b''
    while text not in seen:
        part = os.read(fd, 65536)
        if not part: break
        seen += part
    return seen
os.write(fd, b"bind 'set bell-style none'; obverse() { printf 'RAN[%s]END\\\\n' \\"$*\\"; }; . " + sys.argv[2].encode() + b"; printf '%s%s\\\\n' RE ADY\\n")
until(b'READY')
for line in lines:
    os.write(fd, line.encode() + b'\\n')
    seen = until(b']END')
    print(seen[seen.rindex(b'RAN['):seen.rindex(b']END')][4:].decode())
os.write(fd, b'exit\\n')
os.waitpid(pid, 0)
`;
  const result = Bun.spawnSync(['timeout', '30', 'python3', '-c', program, JSON.stringify(lines), script], {
    cwd: folder,
    stderr: 'pipe',
  });
  expect([result.exitCode, result.stderr.toString()]).toEqual([0, '']);
  return result.stdout.toString().trimEnd().split('\n');
}

test('the tab key completes commands, words, flags, settings, their values, files and methods in bash', () => {
  const cases = [
    ['obverse stat\t', 'status'],
    ['obverse key rot\t', 'key rotate'],
    ['obverse probe re\t', 'probe ready'],
    ['obverse start --http.lis\t', 'start --http.listen'],
    ['obverse start --log.level=de\t', 'start --log.level=debug'],
    ['obverse start --network sig\t', 'start --network signet'],
    ['obverse start --dev.enabled=tr\t', 'start --dev.enabled=true'],
    ['obverse call getblockcou\t', 'call getblockcount'],
    ['obverse help conf\t', 'help config'],
    ['obverse status --wat\t', 'status --watch'],
    ['obverse import obverse.b\t', 'import obverse.bash'],
    ['obverse start --config obverse.b\t', 'start --config obverse.bash'],
    ['obverse completion fi\t', 'completion fish'],
  ] as const;
  expect(typeInBash(cases.map(([typed]) => typed)).map((line) => line.trim())).toEqual(cases.map(([, run]) => run));
});

test.each([
  ['zsh', '#compdef obverse\n', "'getblockcount'"],
  ['fish', '# Completion of obverse for fish', 'complete -c obverse -n __fish_use_subcommand -f -a start'],
])('the script for %s has all commands and methods', async (shell, start, member) => {
  const { status, stdout } = await runCli(['completion', shell]);
  expect(status).toBe(0);
  expect(stdout).toStartWith(start);
  expect(stdout).toContain(member);
  // A shell that is installed parses its script.
  if (Bun.which(shell)) {
    const file = join(folder, shell);
    writeFileSync(file, stdout);
    expect(Bun.spawnSync([shell, '-n', file]).exitCode).toBe(0);
  }
});

test('another shell is refused with the known ones', async () => {
  const { status, stderr } = await runCli(['completion', 'tcsh']);
  expect([status, stderr.split('\n')[0]]).toEqual([2, 'obverse: completion takes one of bash, zsh, fish']);
});

test('man and mandoc accept the manual pages, which name every command and every setting', async () => {
  const { status, stdout } = await runCli(['man', '--out', folder]);
  expect(status).toBe(0);
  const files = stdout.trimEnd().split('\n');
  expect(files).toEqual([join(folder, 'man1/obverse.1'), join(folder, 'man5/obverse.toml.5')]);
  const lint = Bun.spawnSync(['mandoc', '-T', 'lint', ...files]);
  // Builds of one commit are identical, so a page has no date.
  const problems = lint.stdout
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.includes('missing date'));
  expect(problems).toEqual([]);
  const texts = files.map((file) => {
    const shown = Bun.spawnSync(['man', '--warnings', '-l', file], {
      env: { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '100', MANPAGER: 'cat' },
    });
    expect([shown.exitCode, shown.stderr.toString()]).toEqual([0, '']);
    return shown.stdout.toString();
  });
  const commands = (await runCli(['help'])).stdout.match(/(?<=^ {2})[a-z][a-z-]*(?= )/gm)!;
  for (const command of commands) expect(texts[0]).toContain(`obverse ${command}`);
  for (const key of ['http.listen', 'log.level', 'storage.prune'])
    expect(texts[1]).toMatch(new RegExp(`^ +${key}$`, 'm'));
});
