import type { Schema } from '#rollcall/platform';
import { ToolPins1763500000000 } from './migrations/1763500000000-tool-pins.js';
import { ToolPinEntity } from './tools/mcp/tool-pin.entity.js';

/** The tables and migrations of the runtime. */
export const AGENT_RUNTIME_SCHEMA: Schema = { entities: [ToolPinEntity], migrations: [ToolPins1763500000000] };
