import { DELEGATION_TOOLS } from '../delegation/delegation.tools.js';

/** Tools that the runtime adds to an agent. The tool catalog does not contain them. */
export const RUNTIME_TOOLS: ReadonlySet<string> = new Set(['ask_caller', 'activate_skill', ...DELEGATION_TOOLS]);
