import { Injectable } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { RecordedFaults } from '../testing/test-events.js';
import { BackgroundFaults } from './background.faults.js';
import { DecoratedMethods } from './decorated.methods.js';
import { Shutdown, StopsIn } from './shutdown.js';

const stopped: string[] = [];

@Injectable()
class Pool {
  @StopsIn('database')
  async close(): Promise<void> {
    stopped.push('pool');
  }
}

@Injectable()
class Batcher {
  @StopsIn('writes')
  async idle(): Promise<void> {
    await new Promise(setImmediate);
    stopped.push('batcher');
  }
}

@Injectable()
class Sweeper {
  @StopsIn('background')
  async stop(): Promise<void> {
    stopped.push('sweeper');
    throw new Error('the sweep failed');
  }
}

describe('a shutdown', () => {
  it('stops all parts in the declared order, even if one of them fails', async () => {
    const faults = new RecordedFaults();
    const module = await Test.createTestingModule({
      imports: [DiscoveryModule],
      providers: [
        Pool,
        { provide: 'another name of the pool', useExisting: Pool },
        Batcher,
        Sweeper,
        DecoratedMethods,
        Shutdown,
        { provide: BackgroundFaults, useValue: faults },
      ],
    }).compile();
    await module.init();
    await module.close();
    expect(stopped).toEqual(['sweeper', 'batcher', 'pool']);
    expect(faults.all).toEqual([new Error('the sweep failed')]);
  });
});
