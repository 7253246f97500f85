// Prints the id and the type of each event of a stream: follow.mjs URL
import { EventSource } from "eventsource";

const source = new EventSource(process.argv[2]);
source.onmessage = ({ lastEventId, data }) => {
  console.log(`${lastEventId} ${JSON.parse(data).type}`);
};

// The time until a client reconnects does not keep Node.js running.
setInterval(() => {}, 60_000);
