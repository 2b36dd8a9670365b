import { fileURLToPath } from 'node:url';

/** The path of an MCP server over standard input and output, to be started with `node`. */
export const FAKE_MCP_PROGRAM = fileURLToPath(new URL('programs/fake-mcp.mjs', import.meta.url));
