import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { requireProgram } from './programs.ts';

const TIMEOUT_MS = 15_000;
/** Rules of axe-core that fail the test. */
const IMPACTS = ['serious', 'critical'];
/** Before the login there is no session, and Chromium reports this reply as an error. */
const NO_SESSION = /\/api\/session: .*\b401\b/;

/** The page shows that it waits for a reply. */
const LOADING = /^(?:Loading|Connecting|Checking)/;

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** A page in headless Chromium that collects faults: errors, refusals of the policy, foreign requests. */
export class DashboardBrowser implements AsyncDisposable {
  readonly page: Page;
  readonly origin: string;
  /** Faults since the last check. */
  readonly #faults: string[] = [];
  readonly #browser: Browser;
  readonly #context: BrowserContext;

  private constructor(browser: Browser, context: BrowserContext, page: Page, origin: string) {
    this.#browser = browser;
    this.#context = context;
    this.page = page;
    this.origin = origin;
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on('pageerror', (error) => this.#faults.push(`error: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      const text = `${message.location().url}: ${message.text()}`;
      if (['error', 'warning'].includes(message.type()) && !NO_SESSION.test(text))
        this.#faults.push(`console: ${text}`);
    });
    page.on('request', (request) => this.#checkOrigin(request.url()));
    page.on('websocket', (socket) => this.#checkOrigin(socket.url().replace(/^ws/, 'http')));
  }

  static async open(origin: string): Promise<DashboardBrowser> {
    const browser = await chromium.launch({
      executablePath: requireProgram('chromium'),
      // The sandbox of Chromium refuses to run as root.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
      timeout: TIMEOUT_MS * 2,
    });
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
    await context.addInitScript(
      "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective, e.blockedURI))",
    );
    return new DashboardBrowser(browser, context, await context.newPage(), origin);
  }

  /** Opens a path as its first request, and waits until it has loaded. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.origin}${path}`);
    await this.loaded();
  }

  /** Waits until the page has a heading and shows nothing as loading. */
  async loaded(): Promise<void> {
    await this.page.locator('h1').first().waitFor();
    await this.page.locator('.waiting', { hasText: LOADING }).first().waitFor({ state: 'detached' });
  }

  /** Returns what went wrong since the last call. */
  drainFaults(): string[] {
    // The overview shows a node that is not ready, for example on a busy machine, and the reply of /readyz is then a 503.
    return this.#faults.splice(0).filter((fault) => !/\/readyz: .* 503 /.test(fault));
  }

  /** Returns the serious and critical violations that axe-core finds, a line for each element. */
  async violations(): Promise<string[]> {
    if (!(await this.page.evaluate('"axe" in window'))) await this.page.evaluate(axe.source);
    const { violations } = (await this.page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
      violations: Violation[];
    };
    return violations
      .filter(({ impact }) => IMPACTS.includes(impact))
      .flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)}: ${failureSummary}`),
      );
  }

  /** Width of the document, which is larger than the window when it scrolls sideways. */
  async documentWidth(): Promise<number> {
    return (await this.page.evaluate('document.documentElement.scrollWidth')) as number;
  }

  #checkOrigin(url: string): void {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== this.origin) this.#faults.push(`request of ${url}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    await this.#browser.close();
  }
}
