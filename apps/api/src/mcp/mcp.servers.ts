import { McpServer, type ProtocolEra, type ServerCapabilities, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { Injectable } from '@nestjs/common';
import { VERSION } from '../version.js';
import type { McpCall } from './mcp.call.js';
import { McpResources } from './mcp.resources.js';
import { McpTasks } from './tasks/mcp.tasks.js';
import { addTool } from './tools/mcp.tool.js';
import { McpTools } from './tools/mcp.tools.js';

/** Adds tools, prompts or resources to the server of each request. Only the conformance test uses it. */
export type McpFeature = (mcp: McpServer, call: McpCall) => void;

const INSTRUCTIONS =
  'Rollcall is a registry and runtime for agents. Call find_agents to find agents by capability, and run_agent to give work to one. ' +
  'A run is stored: it continues if you disconnect, and get_run returns its answer later.';

/**
 * Creates the server for one request: MCP has no sessions, so each request is complete, and any replica can serve it. A caller sees
 * only the tools that its permissions allow.
 */
@Injectable()
export class McpServers {
  private readonly features: McpFeature[] = [];
  /** Shared by all requests, because each new validator would compile all schemas again. */
  private readonly jsonSchemaValidator = new AjvJsonSchemaValidator();

  constructor(
    private readonly tools: McpTools,
    private readonly resources: McpResources,
    private readonly tasks: McpTasks,
  ) {}

  /** Rejects every request state, because the tools of Rollcall issue none. The conformance test replaces this function. */
  verifyState: (state: string, context: ServerContext) => unknown = () => {
    throw new Error('This server did not issue the request state.');
  };

  add(feature: McpFeature): void {
    this.features.push(feature);
  }

  create(call: McpCall, era: ProtocolEra): McpServer {
    const mcp = new McpServer(
      { name: 'rollcall', title: 'Rollcall', version: VERSION },
      {
        instructions: call.agent?.description ?? INSTRUCTIONS,
        jsonSchemaValidator: this.jsonSchemaValidator,
        capabilities: capabilitiesOf(call, era),
        requestState: { verify: (state, context) => this.verifyState(state, context) },
      },
    );
    for (const tool of this.tools.permittedTo(call)) addTool(mcp, tool, call);
    if (!call.agent) this.resources.addTo(mcp, call);
    this.tasks.addTo(mcp, call);
    for (const feature of this.features) feature(mcp, call);
    return mcp;
  }
}

/**
 * A client with a protocol version before 2026 has no stream, so it gets no notifications. The tools of Rollcall itself never change,
 * but the tool of an agent does.
 */
function capabilitiesOf({ agent }: McpCall, era: ProtocolEra): ServerCapabilities {
  const notifies = era === 'modern';
  if (agent) return { tools: { listChanged: notifies } };
  return { tools: { listChanged: false }, resources: { listChanged: notifies, subscribe: notifies } };
}
