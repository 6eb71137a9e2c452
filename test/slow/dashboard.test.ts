import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../cli/run-cli.ts';
import { DashboardBrowser } from '../lib/dashboard-browser.ts';
import { ExampleNode } from '../lib/example-node.ts';
import type { BlockBody } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, poll } from '../lib/node-process.ts';
import { generate } from '../lib/peer-node.ts';

// The pages in a real browser, as an operator opens them.

cleanUpAfterTests();

const ADDRESS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const IMAGES = join(import.meta.dir, '../../docs/images');
const MAX_IMAGE_BYTES = 150_000;
const isUpdating = process.env.OBVERSE_UPDATE_DOCS === '1';

let example: ExampleNode;
let node: NodeProcess;
let browser: DashboardBrowser;
let page: DashboardBrowser['page'];
let block: BlockBody;

beforeAll(async () => {
  example = await ExampleNode.start();
  ({ node } = example);
  browser = await DashboardBrowser.open(node.api.url);
  ({ page } = browser);
  block = await node.api.json<BlockBody>('/api/block-by-height/111');
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await example?.[Symbol.asyncDispose]();
});

/** The code that `obverse login` prints to an operator. */
async function printedCode(): Promise<string> {
  const { status, stdout, stderr } = await runCli([
    ...['login', '--json', '--scopes', 'read,admin', '--network=regtest', `--datadir=${node.datadir}`],
    `--http.listen=${new URL(node.api.url).host}`,
  ]);
  expect([status, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { code: string }).code;
}

/** Enters a code into the form. */
async function enterCode(code: string): Promise<void> {
  await page.fill('#code', code);
  await page.click('button[type=submit]');
}

async function focused(): Promise<string> {
  return (await page.evaluate('document.activeElement.id || document.activeElement.className')) as string;
}

/** Saves what the window shows as an image of the documents. */
async function saveImage(name: string): Promise<void> {
  if (!isUpdating) return;
  mkdirSync(IMAGES, { recursive: true });
  const path = join(IMAGES, `dashboard-${name}.png`);
  await page.screenshot({ path });
  expect(statSync(path).size).toBeLessThan(MAX_IMAGE_BYTES);
}

test('the browser is led from / to the form, which refuses a wrong code and accepts that of obverse login', async () => {
  await page.goto(`${browser.origin}/`);
  expect(new URL(page.url()).pathname).toBe('/dashboard');
  await page.locator('#code').waitFor();
  expect(await browser.violations()).toEqual([]);
  await enterCode('0000-0000-0000-0000');
  await page.locator('[role=alert]').waitFor();
  expect((await page.locator('[role=alert]').innerText()).length).toBeGreaterThan(10);
  await enterCode(await printedCode());
  await page.locator('[data-tip-height]').first().waitFor();
  await browser.loaded();
  expect(browser.drainFaults()).toEqual([]);
  const stored = await page.evaluate('JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])');
  // The cookie is not readable by scripts, and nothing else holds a credential.
  expect(JSON.parse(stored as string)[0]).toBe('');
});

test('Tab reaches the link that skips to the content first, and Enter follows it', async () => {
  await browser.open('/dashboard');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('skip');
  expect(await page.locator('a.skip').isVisible()).toBe(true);
  await page.keyboard.press('Enter');
  expect(await focused()).toBe('content');
});

test('a mined block appears without a reload', async () => {
  await browser.open('/dashboard');
  const { height } = await node.api.json<{ height: number }>('/api/info');
  const shown = page.locator(`[data-tip-height]`).first();
  await node.until('the tip on the page', async () => (await shown.innerText()).includes(String(height)), 15_000);
  await page.evaluate('void (window.notReloaded = true)');
  const [hash] = await generate(node, 1);
  await node.until('the new tip', async () => (await shown.innerText()).includes(String(height + 1)), 15_000);
  await page
    .locator(`a[href="/dashboard/block/${hash}"], a[href="/dashboard/block/${height + 1}"]`)
    .first()
    .waitFor();
  expect(await page.evaluate('window.notReloaded')).toBe(true);
  // The block has all transactions of the mempool: the pages show others after it.
  for (const amount of [0.5, 0.25, 0.125]) await node.api.rpc('devpay', [ADDRESS, amount]);
  expect(browser.drainFaults()).toEqual([]);
});

describe('the search', () => {
  test.each([
    ['an address', (): string => ADDRESS, (): string => `/dashboard/address/${ADDRESS}`],
    ['a height', (): string => '111', (): string => '/dashboard/block/111'],
    ['a block hash', (): string => block.hash, (): string => `/dashboard/block/${block.hash}`],
    ['a txid', (): string => block.txids[1]!, (): string => `/dashboard/tx/${block.txids[1]}`],
  ] as const)('finds %s', async (_, text, path) => {
    await page.fill('#search', text());
    await page.press('#search', 'Enter');
    await page.waitForURL(`${browser.origin}${path()}`);
    await browser.loaded();
    expect(await page.locator('main [role=alert]').count()).toBe(0);
    // A hash may be that of a block or of a transaction. Chromium reports the reply that it is no block as an error.
    const noBlock = `/api/block/${text()}/status: Failed to load resource: the server responded with a status of 404`;
    const faults: string[] = [];
    if (path().includes('/tx/')) await poll('the error of Chromium', () => faults.push(...browser.drainFaults()) > 0);
    else faults.push(...browser.drainFaults());
    expect(faults.filter((fault) => !fault.includes(noBlock))).toEqual([]);
  });

  test('says why it finds nothing', async () => {
    const before = page.url();
    await page.fill('#search', 'not an address');
    await page.press('#search', 'Enter');
    await page.locator('[role=alert]').first().waitFor();
    expect(await page.locator('[role=alert]').first().innerText()).toContain('not a height');
    expect(page.url()).toBe(before);
  });
});

test('a chart takes the colours of a theme that is switched while it is shown, without loading again', async () => {
  await browser.open('/dashboard/charts');
  const button = page.locator('button.icon');
  const requests: string[] = [];
  const note = (request: { url(): string }) => void requests.push(request.url());
  /** Whether the picture has pixels of the present colour of lines. */
  const isDrawn = () =>
    page.evaluate(`(() => {
      const colour = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
      const [red, green, blue] = colour.slice(1).match(/../g).map((digits) => parseInt(digits, 16));
      const picture = document.querySelector('.plot canvas');
      // Chromium warns of pictures that are read repeatedly and were not made for it.
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [picture.width, picture.height];
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(picture, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4)
        if (data[i] === red && data[i + 1] === green && data[i + 2] === blue && data[i + 3] === 255) return true;
      return false;
    })()`);
  page.on('request', note);
  const grounds = new Set<unknown>();
  for (const title of ['Theme of the system', 'Light theme', 'Dark theme']) {
    expect(await button.getAttribute('title')).toBe(title);
    await node.until(`a chart for ${title}`, isDrawn, 15_000);
    grounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    await button.click();
  }
  expect(grounds.size).toBe(2);
  // The system changes its theme as well.
  await page.emulateMedia({ colorScheme: 'dark' });
  await node.until('a chart in the dark', isDrawn, 15_000);
  await page.emulateMedia({ colorScheme: 'light' });
  page.off('request', note);
  expect(requests.filter((url) => url.includes('/api/chart/'))).toEqual([]);
  expect(browser.drainFaults()).toEqual([]);
});

describe.each([
  ['overview', (): string => '/dashboard'],
  ['mempool', (): string => '/dashboard/mempool'],
  ['charts', (): string => '/dashboard/charts'],
  ['peers', (): string => '/dashboard/peers'],
  ['block', (): string => '/dashboard/block/111'],
  ['block by hash', (): string => `/dashboard/block/${block.hash}`],
  ['transaction', (): string => `/dashboard/tx/${block.txids[1]}`],
  ['address', (): string => `/dashboard/address/${ADDRESS}`],
  ['keys', (): string => '/dashboard/keys'],
] as const)('the page %s', (name, path) => {
  test('shows no error in light and dark, to all readers, and on a phone', async () => {
    await browser.open(path());
    if (name === 'transaction') {
      await page.click('#check-proof');
      await page.locator('[data-proof=valid], [data-proof=invalid]').waitFor();
      expect(await page.locator('[data-proof]').innerText()).toContain('The proof is valid');
    }
    // The form would have no error either.
    expect(await page.locator('button#logout').isVisible()).toBe(true);
    expect(await page.title()).toContain('Obverse');
    expect(await page.locator('[role=alert]').allInnerTexts()).toEqual([]);
    const problems: string[] = [];
    const backgrounds = new Set<unknown>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      backgrounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      problems.push(...(await browser.violations()).map((line) => `${colorScheme}: ${line}`));
      if (name === 'overview' || (name === 'transaction' && colorScheme === 'light'))
        await saveImage(name === 'overview' ? `${name}-${colorScheme}` : name);
    }
    expect(problems).toEqual([]);
    expect(backgrounds.size).toBe(2);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(PHONE);
    expect(await browser.documentWidth()).toBeLessThanOrEqual(PHONE.width);
    if (name === 'overview') await saveImage('phone');
    await page.setViewportSize(DESKTOP);
    expect(browser.drainFaults()).toEqual([]);
  });
});

test('a block that does not exist is an error on the page', async () => {
  await page.goto(`${browser.origin}/dashboard/block/${'f'.repeat(64)}`);
  await page.locator('[role=alert]').first().waitFor();
  // Chromium reports the status 404 of the reply as an error, which may come after the page has changed.
  const faults: string[] = [];
  await poll('the error of Chromium', () => faults.push(...browser.drainFaults()) > 0);
  expect(faults.filter((fault) => !/\b404\b/.test(fault))).toEqual([]);
});

test('logging out ends the session and leads to the form', async () => {
  await browser.open('/dashboard');
  // The page before may have requested its missing block twice, and the second error comes late.
  expect(browser.drainFaults().filter((fault) => !/\/api\/block\/f+\?.*\b404\b/.test(fault))).toEqual([]);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: 'obverse_session', httpOnly: true, sameSite: 'Strict' });
  await page.click('button#logout');
  await page.locator('#code').waitFor();
  const headers = { authorization: '', cookie: `${cookie!.name}=${cookie!.value}` };
  expect((await node.api.request('/api/blocks', { headers })).status).toBe(401);
  await page.reload();
  await page.locator('#code').waitFor();
  expect(await page.locator('[data-tip-height]').count()).toBe(0);
  expect(browser.drainFaults()).toEqual([]);
});
