import { Injectable } from '@nestjs/common';
import { A2aAgents } from './a2a.agents.js';
import { TaskCanceller } from './task.canceller.js';
import { TaskReader } from './task.reader.js';
import { TaskSender } from './task.sender.js';
import { TaskStream } from './task.stream.js';

/** What the operations of A2A need. */
@Injectable()
export class A2aServices {
  constructor(
    readonly agents: A2aAgents,
    readonly sender: TaskSender,
    readonly tasks: TaskReader,
    readonly canceller: TaskCanceller,
    readonly stream: TaskStream,
  ) {}
}
