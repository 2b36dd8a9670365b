import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { BackgroundFaults, Periodic } from '#rollcall/platform';
import { McpClients, ProviderError } from '#rollcall/providers';
import { ToolCatalog } from '../tool.catalog.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools.options.js';
import { McpToolBox } from './mcp.toolbox.js';
import { ToolPinStore } from './tool-pin.store.js';

const REFRESH_EVERY_MS = 30_000;

/** The toolboxes of all MCP servers. Their tools are read in the background, so that a slow server delays nothing. */
@Injectable()
export class McpToolBoxes implements OnModuleInit, OnApplicationBootstrap {
  readonly all: readonly McpToolBox[];
  private readonly log = new Logger('mcp');
  /** The last logged state of each server. */
  private readonly known = new Map<McpToolBox, string>();

  constructor(
    private readonly catalog: ToolCatalog,
    { all }: McpClients,
    pins: ToolPinStore,
    @Inject(TOOLS_OPTIONS) { limits }: ToolsOptions,
    private readonly faults: BackgroundFaults,
  ) {
    this.all = all.map((client) => new McpToolBox(client, pins, limits.maxOutputChars));
  }

  onModuleInit(): void {
    for (const box of this.all) this.catalog.add(box);
  }

  onApplicationBootstrap(): void {
    void this.refresh().catch((error: unknown) => this.faults.report('mcp.refresh', error));
  }

  /** Reads the tools of all servers. */
  @Periodic('mcp.refresh', REFRESH_EVERY_MS)
  async refresh(): Promise<void> {
    const results = await Promise.allSettled(this.all.map(async (box) => await this.refreshOne(box)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async refreshServer(server: string): Promise<void> {
    const box = this.all.find((one) => one.server === server);
    if (box) await this.refreshOne(box);
  }

  /** An error of the server is logged when the state of the server changes. Any other error is a bug in Rollcall. */
  private async refreshOne(box: McpToolBox): Promise<void> {
    try {
      await box.refresh();
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
    }
    this.logChanges(box);
  }

  private logChanges(box: McpToolBox): void {
    const { server, error, disabled } = box;
    const state = JSON.stringify([error?.code, disabled]);
    if (this.known.get(box) === state) return;
    this.known.set(box, state);
    if (error) {
      const { code, message, logDetail: detail } = error;
      this.log.warn({ event: 'mcp.server_failed', server, code, message, ...(detail && { detail }) });
    }
    for (const { tool, reason } of disabled) this.log.warn({ event: 'mcp.tool_disabled', server, tool, reason });
  }
}
