import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { newFolder, RollcallProcess } from './process.js';
import { WebhookReceiver } from './webhook-receiver.js';

/** Processes on one empty database that may send requests to a receiver on this machine. */
export class WebhookProcesses {
  readonly key = 'a'.repeat(40);
  private readonly running: RollcallProcess[] = [];

  private constructor(
    readonly receiver: WebhookReceiver,
    private readonly url: string,
    private readonly folder: string,
  ) {}

  static async create(): Promise<WebhookProcesses> {
    return new WebhookProcesses(await WebhookReceiver.start(), await emptyDatabase(), newFolder());
  }

  async start(options: ConstructorParameters<typeof RollcallProcess>[1] = {}): Promise<RollcallProcess> {
    const environment = {
      DATABASE_URL: this.url,
      ROLLCALL_DATA_DIR: this.folder,
      ROLLCALL_ADMIN_KEY: this.key,
      ROLLCALL_SEALING_KEY: 'k'.repeat(32),
      ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8',
    };
    const started = new RollcallProcess(environment, options);
    this.running.push(started);
    return await started.ready();
  }

  /** Returns the signal that ended the process. */
  async kill(process: RollcallProcess): Promise<number | string> {
    this.running.splice(this.running.indexOf(process), 1);
    return await process.end('SIGKILL');
  }

  async end(): Promise<void> {
    await Promise.all(this.running.splice(0).map(async (one) => await one.end()));
    await this.receiver.stop();
    rmSync(this.folder, { recursive: true, force: true });
    await dropDatabase(this.url);
  }
}
