/** How an agent thinks, lives and dies. Filled by the runtime issues; the room and its door exist from the start. */
export {};
