import { type FSWatcher, watch } from 'node:fs';

export interface FolderWatchOptions<Report> {
  /** The folder to watch; undefined while it does not exist. */
  readonly locate: () => Promise<string | undefined>;
  readonly load: () => Promise<Report>;
  /** A report that the caller already has. It is not delivered again. */
  readonly known?: Report;
  /** Called with the new report when the result of loading the folder has changed. */
  readonly onReport: (report: Report) => void | Promise<void>;
  /** Called with an error of `onReport`. */
  readonly onError: (error: unknown) => void;
  /** Changes within this time are loaded together. */
  readonly debounceMs?: number;
  /** The interval of loading while the folder cannot be watched. */
  readonly pollMs?: number;
  /** `watch` of node:fs, or a replacement. */
  readonly watch?: typeof watch;
}

const DEFAULT_DEBOUNCE_MS = 200;
const DEFAULT_POLL_MS = 5_000;

/**
 * Loads a folder again when its files change. If the folder does not exist yet or the system cannot watch it, the folder is loaded
 * in intervals instead. Passes never overlap. After `close()` no timer is left and `onReport` is not called any more.
 */
export class FolderWatcher<Report> {
  private watcher: FSWatcher | undefined;
  private watched: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private delivered: string | undefined;
  private pass: Promise<void> = Promise.resolve();
  private canWatch = true;
  private isClosed = false;

  constructor(private readonly options: FolderWatchOptions<Report>) {
    this.delivered = options.known && JSON.stringify(options.known);
  }

  /** Starts to watch, and calls `onReport` with the first report before it returns, unless the report is known. */
  async start(): Promise<void> {
    await this.load();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.stopWatching();
    await this.pass;
  }

  /** Loads the folder now, after the pass in progress. */
  async load(): Promise<void> {
    this.pass = this.pass.then(async () => await this.run());
    await this.pass;
  }

  private async run(): Promise<void> {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.watchFolder(); // before loading, so that no change is missed
    const report = await this.options.load();
    const isDelivered = await this.deliver(report);
    if ((!this.watcher || !isDelivered) && this.timer === undefined)
      this.schedule(this.options.pollMs ?? DEFAULT_POLL_MS);
  }

  /** Returns false if `onReport` failed. The next pass delivers the report again. */
  private async deliver(report: Report): Promise<boolean> {
    const text = JSON.stringify(report);
    if (this.isClosed || text === this.delivered) return true;
    try {
      await this.options.onReport(report);
      this.delivered = text;
      return true;
    } catch (error) {
      this.options.onError(error);
      return false;
    }
  }

  /** The folder may have been created, removed or replaced since the last pass. */
  private async watchFolder(): Promise<void> {
    const folder = await this.options.locate();
    if (this.isClosed || !this.canWatch || (folder === this.watched && this.watcher)) return;
    this.stopWatching();
    if (folder === undefined) return;
    try {
      const start = this.options.watch ?? watch;
      this.watcher = start(folder, { recursive: true, persistent: false });
      this.watcher.on('change', (_event, file) => this.onChange(String(file ?? '')));
      this.watcher.on('error', () => this.onWatchError());
      this.watched = folder;
    } catch {
      this.onWatchError();
    }
  }

  /** If no file is given, the folder itself was removed or replaced, so the next pass watches it again. */
  private onChange(file = ''): void {
    if (file === '') this.stopWatching();
    this.schedule(this.options.debounceMs ?? DEFAULT_DEBOUNCE_MS);
  }

  /** Called if the system cannot watch the folder, for example because it limits the number of watched files. */
  private onWatchError(): void {
    this.canWatch = false;
    this.onChange();
  }

  private stopWatching(): void {
    this.watcher?.close();
    this.watcher = undefined;
    this.watched = undefined;
  }

  private schedule(delayMs: number): void {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), delayMs);
    this.timer.unref();
  }
}
