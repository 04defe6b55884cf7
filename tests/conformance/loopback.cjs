// Loaded before the suite, to keep it on this machine: the servers that it starts are bound to the loopback, where it
// would bind them to every address, and what it connects to is there, too.

"use strict";

const net = require("node:net");

const LOOPBACK = new Set(["localhost", "127.0.0.1", "::1", "[::1]"]);

// Here a server that was given no address would bind to all of them. To name one where it is called would not do, for
// then its port is known a moment later only, and the suite asks for it at once.
const bind = net.Server.prototype._listen2;
if (typeof bind !== "function") {
  throw new Error(`Node ${process.version} binds servers in another way than this file knows`);
}
net.Server.prototype._listen2 = function (address, port, family, backlog, descriptor, ...rest) {
  const anywhere = !address && typeof descriptor !== "number";
  const [host, kind] = anywhere ? ["127.0.0.1", 4] : [address, family];
  return bind.call(this, host, port, kind, backlog, descriptor, ...rest);
};

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...given) {
  // Node itself hands the options over in a list.
  const options = Array.isArray(given[0]) ? given[0][0] : given[0];
  const host = typeof options === "object" ? options.host : given[1];
  if (typeof host === "string" && !LOOPBACK.has(host)) {
    throw new Error(`the suite was about to connect to ${host}`);
  }
  return connect.apply(this, given);
};
