import { Injectable } from '@nestjs/common';
import { BackgroundFaults, Database } from '#rollcall/platform';
import { RuntimeError } from '../../errors.js';
import type { McpToolBox } from './mcp.toolbox.js';
import { McpToolBoxes } from './mcp.toolboxes.js';
import { type ToolPin, ToolPinStore } from './tool-pin.store.js';

class ToolPinNotFoundError extends RuntimeError {
  readonly code = 'TOOL_PIN_NOT_FOUND';

  constructor(server: string, tool: string) {
    super(
      `Rollcall has never seen a tool ${tool} of an MCP server ${server}. GET /v1/tools/pins lists all known tools.`,
    );
  }
}

/** The server changed the definition after the operator had read it. */
class ToolPinChangedError extends RuntimeError {
  readonly code = 'TOOL_PIN_CHANGED';

  constructor(server: string, tool: string) {
    super(`The definition of ${tool} of ${server} has another hash now. Read it again before you accept it.`);
  }
}

/** The pinned definitions of tools, for operators. */
@Injectable()
export class ToolPinsService {
  constructor(
    private readonly pins: ToolPinStore,
    private readonly boxes: McpToolBoxes,
    private readonly db: Database,
    private readonly faults: BackgroundFaults,
  ) {}

  /** The servers as this replica sees them. */
  get servers(): readonly McpToolBox[] {
    return this.boxes.all;
  }

  async list(): Promise<ToolPin[]> {
    return await this.pins.list();
  }

  /** Accepts exactly the definition with this hash. This replica offers it at once, the others after their next refresh. */
  async accept(server: string, tool: string, { hash, by }: { hash: string; by: string }): Promise<ToolPin> {
    const accepted = await this.pins.accept(server, tool, hash, by);
    if (!accepted)
      throw (await this.pins.find(server, tool))
        ? new ToolPinChangedError(server, tool)
        : new ToolPinNotFoundError(server, tool);
    const refresh = (): void =>
      void this.boxes.refreshServer(server).catch((error: unknown) => this.faults.report('mcp.refresh', error));
    if (this.db.inTransaction) this.db.afterCommit(refresh);
    else refresh();
    return accepted;
  }
}
