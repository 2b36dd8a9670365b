/** Values that the tools of one run share. They are plain JSON, so that a run can be stored. */
export interface RunMemory {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  keys(): readonly string[];
}
