/** A piece of an answer, or what a tool is doing, while a run is executed. It is not stored. */
export interface LiveEvent {
  readonly type: 'text' | 'reasoning' | 'progress';
  readonly text: string;
  /** The last step before the event. */
  readonly afterStep: number;
}
