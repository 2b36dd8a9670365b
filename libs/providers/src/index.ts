/** How vendors and remote agents speak. Filled by the providers issue; the room and its door exist from the start. */
export {};
